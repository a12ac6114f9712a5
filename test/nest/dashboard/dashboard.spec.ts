import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { LockModule, LockService } from 'nestjs-distribute-lock';

import { onCleanup } from '../../support/cleanup.js';
import { eventually } from '../../support/eventually.js';
import { useRedis } from '../../support/use-redis.js';
import { CONSENT, PageReader, type PageAppOptions, startPageApp } from './pages.js';

const POST = {
  method: 'POST',
  headers: { ...CONSENT, 'content-type': 'application/json', 'x-requested-by': 'lock-dashboard' },
};
const ASSETS = ['', '/page.css', '/page.js', '/dom.js', '/table.js', '/shapes.js', '/timeline.js'];

describe('LockDashboardModule', () => {
  const redis = useRedis();
  const start = (options: Partial<PageAppOptions> = {}) =>
    startPageApp({ connection: redis.url, prefix: redis.prefix, ...options });
  const release = (url: string, id: unknown, init = POST) =>
    fetch(`${url}/release`, { ...init, body: JSON.stringify({ id }) });

  /** Messages on the channel of hints, with the instance that sent each. */
  async function listenToHints(): Promise<string[]> {
    const client = new Redis(redis.url);
    onCleanup(() => client.disconnect());
    const messages: string[] = [];
    client.on('message', (_: string, text: string) => messages.push(text));
    await client.subscribe(`nestjs-lock:1:${redis.prefix}hints:1`);
    return messages;
  }

  describe.each(['express', 'fastify'] as const)('with %s', (platform) => {
    it.each([undefined, 'api/v1'])('serves the page and its assets below the prefix %s', async (globalPrefix) => {
      const { url, close } = await start({ platform, globalPrefix });
      const page = await fetch(url, { headers: CONSENT });
      expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
      const html = await page.text();
      expect(html).not.toMatch(/<script(?![^>]* src=)|style=|\son\w+=/);
      const linked = [...html.matchAll(/(?:src|href)="([^"]+\.\w+)"/g)].map(([, path]) => new URL(path, url).href);
      expect(linked).toEqual([`${url}/page.css`, `${url}/page.js`]);
      for (const asset of ASSETS) {
        const { status, headers } = await fetch(url + asset, { headers: CONSENT });
        expect([asset, status]).toEqual([asset, 200]);
        expect(headers.get('x-content-type-options')).toBe('nosniff');
      }
      await close();
    });

    it('returns no state without the consent of the guard', async () => {
      const { url, locks, close } = await start({ platform, dashboard: { allowForceRelease: true } });
      const lease = await locks.acquire('secret:1', { ttl: '10s' });
      for (const path of [...ASSETS, '/events']) {
        const response = await fetch(url + path);
        expect([path, response.status]).toEqual([path, 403]);
        expect(await response.text()).not.toMatch(/secret|LockService|one/);
      }
      const { authorization: _, ...others } = POST.headers;
      expect((await release(url, 'any', { ...POST, headers: others as typeof POST.headers })).status).toBe(403);
      await lease.release();
      await close();
    });

    it('stops at once while a page is open', async () => {
      const { url, close } = await start({ platform });
      const page = await PageReader.open(url);
      await eventually(() => expect(page.deltas).not.toEqual([]));
      const startedAt = performance.now();
      await close();
      // A page keeps its connection open for longer.
      expect(performance.now() - startedAt).toBeLessThan(10_000);
    });
  });

  it('names a holder without this module, or a foreign client, as held elsewhere with the time left', async () => {
    const { url, locks, close } = await start();
    const page = await PageReader.open(url);
    await redis.client.set(`${redis.prefix}foreign`, 'a stranger', 'PX', 60_000);
    const app = await NestFactory.createApplicationContext(
      LockModule.forRoot({ connection: redis.url, prefix: redis.prefix }),
      { logger: ['error'] },
    );
    onCleanup(() => app.close());
    const lease = await app.get(LockService).acquire('plain', { ttl: '60s' });
    const leaving = new AbortController();
    const waiting = ['foreign', 'plain'].map((key) =>
      locks.acquire(key, { name: key, wait: '60s', signal: leaving.signal }).catch(() => undefined),
    );
    // The words of a row end with the name of the process and the end of the lease.
    const elsewhere = (name: string): unknown[] =>
      page.all<unknown[]>('rows').filter((row) => row[1] === name && row[8] !== null);
    await eventually(() => expect(elsewhere('foreign')).not.toEqual([]), 10_000);
    await eventually(() => expect(elsewhere('plain')).not.toEqual([]), 10_000);
    const words = (name: string) => (elsewhere(name)[0] as unknown[])[8] as [string, number];
    expect(words('foreign')[0]).toBe('');
    expect(words('plain')[0]).toBe(`${hostname()} ${process.pid}`);
    for (const name of ['foreign', 'plain']) expect(words(name)[1]).toBeGreaterThan(Date.now() + 30_000);
    const lane = (name: string) => (page.latest('lanes') as unknown[][]).find((each) => each[1] === name);
    await eventually(() => expect(lane('plain')?.[4]).toEqual([`${hostname()} ${process.pid}`, expect.any(Number), 0]));
    leaving.abort();
    await Promise.all(waiting);
    await lease.release();
    await close();
  }, 30_000);

  it('shows a detached lease with its end, also while a caller waits, and releases it by force', async () => {
    const { url, locks, close } = await start({ dashboard: { allowForceRelease: true } });
    const page = await PageReader.open(url);
    await eventually(() => expect(page.deltas).not.toEqual([]));
    const ticket = await (await locks.acquire('seat:1', { name: 'Seats.reserve' })).detach({ ttl: '10m' });
    const leaving = new AbortController();
    const next = locks.acquire('seat:1', { wait: '60s', signal: leaving.signal }).catch(() => undefined);

    const row = () => page.all<unknown[]>('rows').findLast((each) => each[7] === 1) ?? [];
    await eventually(() => expect(row()[8]).toEqual(['', expect.any(Number), 1]), 10_000);
    await eventually(() => expect((row()[8] as number[])[1]).toBeGreaterThan(Date.now() + 500_000), 10_000);
    await eventually(() => expect((page.latest('lanes') as unknown[][])[0]?.[4]).toEqual(row()[8]), 10_000);
    leaving.abort();
    await next;
    await eventually(() => expect(page.latest('cards')).toEqual([1, 0, 0, 0]), 10_000);

    jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    expect(await (await release(url, row()[0])).json()).toEqual({ result: 'released' });
    jest.restoreAllMocks();
    await eventually(() => expect(page.latest('cards')).toEqual([0, 0, 0, 0]), 10_000);
    await expect(locks.attach(ticket)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await close();
  }, 40_000);

  it('shows names without keys, unless showKeys is true', async () => {
    const hidden = await start();
    const shown = await start({ dashboard: { showKeys: true } });
    const lease = await hidden.locks.acquire('customer:ada', { ttl: '10s', name: 'Orders.pay' });
    const pages = [await PageReader.open(hidden.url), await PageReader.open(shown.url)];
    await eventually(() => {
      for (const page of pages) expect(JSON.stringify(page.deltas)).toContain('Orders.pay');
    });
    expect(JSON.stringify(pages[0].deltas)).not.toContain('customer:ada');
    expect(JSON.stringify(pages[1].deltas)).toContain('customer:ada');
    await lease.release();
    await Promise.all([hidden.close(), shown.close()]);
  });

  it('shows the lock of a job, and not the markers of its ticks', async () => {
    const { url, locks, close } = await start({ dashboard: { showKeys: true } });
    const page = await PageReader.open(url);
    await eventually(() => expect(page.deltas).not.toEqual([]));
    for (const second of [1, 2, 3]) await locks.onceAt('job', new Date(second * 1_000), () => Promise.resolve());
    await eventually(() => expect(page.latest('lanes')).toHaveLength(1));
    expect(await redis.client.keys(`${redis.prefix}job:tick:*`)).toHaveLength(3);
    await locks.withLock('later', {}, () => Promise.resolve());
    await eventually(() => expect(page.latest('lanes')).toHaveLength(2));
    expect(JSON.stringify(page.deltas)).not.toContain('job:tick:');
    await close();
  });

  it('shows what its own instance holds when the page of another one was open before', async () => {
    const [one, two] = [await start(), await start({ dashboard: { instance: 'two' } })];
    const lease = await two.locks.acquire('job', { ttl: '1h', name: 'Jobs.run' });
    const first = await PageReader.open(one.url);
    await eventually(() => expect(first.latest('total')).toEqual([1, 1]));

    const second = await PageReader.open(two.url);
    await eventually(() => expect(second.latest('total')).toEqual([1, 1]), 2_000);
    await eventually(() => expect(second.all('bars')).not.toEqual([]), 2_000);
    await lease.release();
    await Promise.all([one.close(), two.close()]);
  });

  it('releases no lock without allowForceRelease, and one lock with it', async () => {
    const strict = await start();
    const open = await start({ dashboard: { allowForceRelease: true } });
    const lease = await strict.locks.acquire('job', { ttl: '10s', name: 'Jobs.run' });
    const idAt = async (url: string): Promise<string> => {
      const page = await PageReader.open(url);
      await eventually(() => expect(page.all('rows')).not.toEqual([]));
      return page.all<[string]>('rows')[0][0];
    };
    const [strictId, openId] = [await idAt(strict.url), await idAt(open.url)];

    expect((await release(strict.url, strictId)).status).toBe(403);
    const { 'x-requested-by': _, ...others } = POST.headers;
    expect((await release(open.url, openId, { ...POST, headers: others as typeof POST.headers })).status).toBe(403);
    expect((await release(open.url, 'unknown')).status).toBe(404);
    expect((await release(open.url, 'job')).status).toBe(404);
    expect((await release(open.url, 7)).status).toBe(400);
    expect(lease.isHeld()).toBe(true);
    expect(await redis.client.exists(`${redis.prefix}job`)).toBe(1);

    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    expect(await (await release(open.url, openId)).json()).toEqual({ result: 'released' });
    expect(warn.mock.calls.flat()).toContainEqual(
      expect.stringMatching(/at the request of "ada" at [\w.:]*127\.0\.0\.1: done/),
    );
    warn.mockRestore();
    await eventually(() => expect(lease.isHeld()).toBe(false));
    expect(await redis.client.exists(`${redis.prefix}job`)).toBe(0);
    await Promise.all([strict.close(), open.close()]);
  });

  it('sends no message without an open page, and stops when the last page is closed', async () => {
    const messages = await listenToHints();
    const [one, two] = [await start(), await start({ dashboard: { instance: 'two' } })];
    const work = async (): Promise<void> => {
      for (let i = 0; i < 50; i++) await one.locks.withLock(`k${i % 5}`, { ttl: '5s', wait: '2s' }, () => pause(2));
    };
    await work();
    await pause(1_500);
    // Real time: on a slow machine a message would only be found less often.
    expect(messages).toEqual([]);

    const page = await PageReader.open(one.url);
    await eventually(() => expect(page.latest('instances')).toHaveLength(2));
    page.close();
    await eventually(() => expect(messages.at(-1)).toContain('"bye"'));
    const sent = messages.length;
    await work();
    await pause(2_000);
    // Real time: on a slow machine a message would only be found less often.
    expect(messages.length - sent).toBeLessThanOrEqual(1); // a summary may have been on its way
    await Promise.all([one.close(), two.close()]);
  });

  it('ignores forged messages of a wrong form, and sends the text of others as text', async () => {
    // A separate prefix: the listeners of other tests stay subscribed.
    const prefix = `${redis.prefix}forged:`;
    const { url, close } = await start({ prefix });
    const page = await PageReader.open(url);
    await eventually(() => expect(page.latest('instances')).toBeDefined());
    const markup = '<img src=x onerror=alert(1)>';
    const forged = {
      ...{ v: 1, instance: markup, label: markup, number: 0, at: Date.now(), gone: [], bars: [] },
      ...{ waiting: 0, waitingSince: 0, lost: 0, locks: [['default k', markup, markup, 1, Date.now(), 1, 0, 0]] },
    };
    const channel = `nestjs-lock:1:${prefix}hints:1`;
    // The page opens before the subscription of its instance.
    await eventually(async () => expect(await redis.client.publish(channel, '[')).toBe(1));
    await redis.client.publish(channel, JSON.stringify({ ...forged, instance: 'x', locks: 'all' }));
    await redis.client.publish(channel, JSON.stringify(forged));
    await eventually(() => expect(page.latest('instances')).toHaveLength(2));
    await eventually(() => expect(page.all('rows')).toContainEqual(expect.arrayContaining([markup])));
    await close();
  });
});
