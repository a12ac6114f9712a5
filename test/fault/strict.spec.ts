import { setTimeout as sleep } from 'node:timers/promises';

import { CLAIM_WINDOW_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import type { LockProcess } from './support/lock-process.js';
import { monotonicMs } from '../support/monotonic.js';
import { cluster, onePrimary, type StartTopology } from './support/topology.js';
import { useTopology } from './support/use-topology.js';

const CALLERS = 12;
const strict = { fair: 'strict', wait: '60s' } as const;
const topologies: Record<string, StartTopology> = { 'one primary': onePrimary, 'a Cluster': cluster };

describe.each(Object.entries(topologies))('P9: strict fairness on %s', (_, start) => {
  const world = useTopology(start);

  /** How long after the release another process is served that waits behind 12 callers of `first`. */
  async function servedAfter(goes: (first: LockProcess) => unknown): Promise<number> {
    const holder = world.locks();
    const [first, second] = await Promise.all([world.process(), world.process()]);
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '60s' });
    for (let i = 0; i < CALLERS; i += 1) void first.do('acquire', { key, ...strict }).catch(() => undefined);
    await eventually(async () => expect(await world.waiting(key)).toBe(CALLERS));
    const granted = second.do('acquire', { key, ...strict });
    await eventually(async () => expect(await world.waiting(key)).toBe(CALLERS + 1));
    await goes(first);
    const releasedAt = monotonicMs();
    await lease.release();
    const { at } = await granted;
    await second.do('release', await granted);
    return at - releasedAt;
  }

  it('a stopped process with 12 callers delays the next process by less than 2 claim windows', async () => {
    expectBelow(await servedAfter((first) => first.pause()), 2 * CLAIM_WINDOW_MS);
  }, 40_000);

  it('a killed process with 12 callers delays the next process by less than 2 claim windows', async () => {
    expectBelow(await servedAfter((first) => first.kill('SIGKILL')), 2 * CLAIM_WINDOW_MS);
  }, 40_000);

  it('a stopped holder with 12 callers delays the next process by less than its ttl and 2 claim windows', async () => {
    const [first, second] = await Promise.all([world.process(), world.process()]);
    const key = world.newKey();
    const ttl = 3_000;
    await first.do('acquire', { key, ttl });
    for (let i = 0; i < CALLERS; i += 1) void first.do('acquire', { key, ...strict }).catch(() => undefined);
    await eventually(async () => expect(await world.waiting(key)).toBe(CALLERS));
    const granted = second.do('acquire', { key, ...strict });
    await eventually(async () => expect(await world.waiting(key)).toBe(CALLERS + 1));
    const stoppedAt = monotonicMs();
    first.pause();
    expectBelow((await granted).at - stoppedAt, ttl + 2 * CLAIM_WINDOW_MS);
    await second.do('release', await granted);
  }, 40_000);

  it('a process that missed its heartbeats gets its callers served, in their order', async () => {
    const holder = world.locks();
    const [first, second] = await Promise.all([world.process(), world.process()]);
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '60s' });
    const served: number[] = [];
    const waits = Array.from({ length: CALLERS }, async (__, i) => {
      const granted = await first.do('acquire', { key, ...strict });
      served.push(i);
      await first.do('release', granted);
    });
    await eventually(async () => expect(await world.waiting(key)).toBe(CALLERS));
    const other = second.do('acquire', { key, ...strict });
    await eventually(async () => expect(await world.waiting(key)).toBe(CALLERS + 1));
    first.pause();
    await lease.release();
    const granted = await other;
    expect(await world.waiting(key)).toBe(0);
    first.resume();
    await eventually(async () => expect(await world.waiting(key)).toBe(CALLERS), 5_000);
    await second.do('release', granted);
    await Promise.all(waits);
    expect(served).toEqual(served.toSorted((a, b) => a - b));
  }, 40_000);
});

describe('P12: strict callers of one process', () => {
  const world = useTopology(onePrimary);

  it('ask with one command for all of them: 500 callers send at most 2 commands a second', async () => {
    const holder = world.locks();
    const waiter = await world.process();
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '60s' });
    for (let i = 0; i < 500; i += 1) void waiter.do('acquire', { key, ...strict }).catch(() => undefined);
    await eventually(async () => expect(await world.waiting(key)).toBe(500));
    const [scripts, messages] = await calls();
    const forS = 6;
    await sleep(forS * 1_000);
    const [scriptsAfter, messagesAfter] = await calls();
    expect(scriptsAfter - scripts).toBeLessThanOrEqual(2 * forS);
    expect(messagesAfter - messages).toBeLessThanOrEqual(2 * forS);
    await waiter.kill('SIGKILL');
    await lease.release();
  }, 30_000);

  it('take turns for one command each, also after a long wait', async () => {
    const [holder, waiter] = [world.locks(), await world.process()];
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '60s' });
    const callers = 200;
    const waits = Array.from({ length: callers }, async () =>
      waiter.do('release', await waiter.do('acquire', { key, ...strict })),
    );
    await eventually(async () => expect(await world.waiting(key)).toBe(callers));
    await sleep(3_000);
    const [before] = await calls();
    const startedAt = monotonicMs();
    await lease.release();
    await Promise.all(waits);
    const [after] = await calls();
    const heartbeats = 2 * Math.ceil((monotonicMs() - startedAt) / 1_000);
    expect(after - before).toBeLessThanOrEqual(1.05 * callers + heartbeats);
  }, 30_000);

  it('get their places back, in their order, after the server lost its data', async () => {
    const [holder, waiter] = [world.locks(), world.locks()];
    const key = world.newKey();
    await holder.acquire(key, { ttl: '60s' });
    const served: number[] = [];
    const waits = Array.from({ length: 30 }, async (_, i) => {
      const lease = await waiter.acquire(key, strict);
      served.push(i);
      await lease.release();
    });
    await eventually(async () => expect(await world.waiting(key)).toBe(30));
    await world.onHomes(key, (redis) => redis.del(`q1:{lock:${key}}`));
    await eventually(async () => expect(await world.waiting(key)).toBe(30), 2_000);
    await world.onHomes(key, (redis) => redis.flushall());
    await Promise.all(waits);
    expect(served).toEqual(Array.from({ length: 30 }, (_, i) => i));
  }, 30_000);

  it('continue the heartbeat when the first of them gives up', async () => {
    const [holder, waiter] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await holder.acquire(key, { ttl: '60s' });
    const first = new AbortController();
    const gone = waiter.acquire(key, { ...strict, signal: first.signal }).catch(() => undefined);
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const waits = Array.from({ length: 5 }, () => waiter.acquire(key, strict).then((next) => next.release()));
    await eventually(async () => expect(await world.waiting(key)).toBe(6));
    first.abort();
    await gone;
    await world.onHomes(key, (redis) => redis.del(`q1:{lock:${key}}`));
    await eventually(async () => expect(await world.waiting(key)).toBe(5), 2_000);
    await lease.release();
    await Promise.all(waits);
  }, 30_000);

  it('claim an offer whose message was lost, also when the heartbeat asks for another of them', async () => {
    const [holder, waiter] = [world.locks(), world.locks()];
    const key = world.newKey();
    await holder.acquire(key, { ttl: '60s' });
    const first = waiter.acquire(key, strict);
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const second = waiter.acquire(key, strict);
    await eventually(async () => expect(await world.waiting(key)).toBe(2));
    const third = waiter.acquire(key, strict);
    await eventually(async () => expect(await world.waiting(key)).toBe(3));
    const [token] = await world.onHomes(key, async (redis) => {
      const [, behind] = await redis.zrange(`q1:{lock:${key}}`, '0', '-1');
      await redis.set(`lock:${key}`, behind, 'PX', CLAIM_WINDOW_MS);
      return behind;
    });
    const lease = await second;
    expect(lease.grant.ownerToken).toBe(token);
    await lease.release();
    await (await first).release();
    await (await third).release();
  }, 30_000);

  async function calls(): Promise<[scripts: number, messages: number]> {
    const [stats] = await world.onHomes('', (redis) => redis.info('commandstats'));
    const of = (name: string): number => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    return [of('evalsha') + of('eval'), of('publish')];
  }
});
