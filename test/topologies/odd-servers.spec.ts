import { inspect } from 'node:util';

import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis, type RedisOptions } from 'ioredis';

import { LockModule } from '../../libs/distribute-lock/src/nest/module/lock.module.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { worldOf } from '../contract/redis-world.js';
import { startProcess, type Process } from '../contract/world.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startOneNodeCluster } from '../support/redis-cluster.js';
import { startRedisServer } from '../support/redis-server.js';

const server = await startRedisServer();
const admin = new Redis(server.url);
onCleanup(() => admin.disconnect());

function start(store: () => RedisLockStore): Process {
  return startProcess(worldOf(admin, 'lock:', { store, counted: true, keys: () => admin.keys('lock:*') }));
}

const startOn = (connection: string | RedisOptions): Process =>
  start(() => RedisLockStore.open(connection, { prefix: 'lock:' }));

/** Starts an application, and returns its warnings. */
async function warnings(connection: RedisOptions, prefix = 'lock:'): Promise<string[]> {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  const testing = await Test.createTestingModule({ imports: [LockModule.forRoot({ connection, prefix })] }).compile();
  const app = await testing.createNestApplication().init();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const said = warn.mock.calls.map(([message]) => String(message));
  warn.mockRestore();
  await app.close();
  return said;
}

describe('a server that only runs scripts for one slot', () => {
  it('causes one warning at start, which names the layout', async () => {
    const { port } = await startOneNodeCluster();
    expect(await warnings({ port })).toEqual([expect.stringMatching(/CROSSSLOT.*layout "slot"/)]);
  });
});

describe('a prefix with a {tag}', () => {
  it('causes a warning at start', async () => {
    expect(await warnings({ port: server.port }, '{locks}:')).toEqual([expect.stringContaining('"{locks}:"')]);
  });
});

describe('a server that may evict locks', () => {
  it.each(['allkeys-lru', 'volatile-ttl'])('causes a warning at start (%s)', async (policy) => {
    const full = await startRedisServer({ config: { maxmemory: '100mb', 'maxmemory-policy': policy } });
    expect(await warnings({ port: full.port })).toEqual([expect.stringContaining(policy)]);
    await full.run((redis) => redis.acl('SETUSER', 'default', '-info'));
    expect(await warnings({ port: full.port, enableReadyCheck: false })).toEqual([]);
  });

  it('causes no warning when it keeps all data, or has no memory limit', async () => {
    const kept = await startRedisServer({ config: { maxmemory: '100mb', 'maxmemory-policy': 'noeviction' } });
    const endless = await startRedisServer({ config: { 'maxmemory-policy': 'allkeys-lru' } });
    expect([await warnings({ port: kept.port }), await warnings({ port: endless.port })]).toEqual([[], []]);
  });
});

describe('without the right to subscribe', () => {
  it('a waiter polls, and one warning reports it', async () => {
    await admin.acl('SETUSER', 'deaf', 'on', '>secret-1', '~*', 'resetchannels', '+@all');
    const deaf = { port: server.port, username: 'deaf', password: 'secret-1' };
    const [here, there] = [startOn(deaf), startOn(deaf)];
    const lease = await here.acquire('polled');
    const waits = [1, 2].map(() => there.acquire('polled', { wait: '10s' }));
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const releasedAt = performance.now();
    await lease.release();
    const first = await Promise.race(waits);
    expect(performance.now() - releasedAt).toBeLessThan(500);
    await first.release();
    for (const wait of waits) await (await wait).release();
    const degraded = there.events.filter(({ type }) => type === 'degraded');
    expect(degraded).toHaveLength(1);
    expect(degraded[0].error?.message).toContain('NOPERM');
    expect(inspect(degraded, { depth: null })).not.toContain('secret-1');
  });
});

describe('behind a client that prefixes its keys', () => {
  it('locks work, also across processes and by message, and have its prefix', async () => {
    const client = new Redis(server.url, { keyPrefix: 'app:' });
    onCleanup(() => client.disconnect());
    const over = (): Process => start(() => RedisLockStore.open(client, { prefix: 'lock:' }));
    const [here, there] = [over(), over()];
    const lease = await here.acquire('prefixed');
    expect(await admin.get('app:lock:prefixed')).toBe(lease.grant.ownerToken);
    const waiting = there.acquire('prefixed', { wait: '10s' });
    await eventually(async () => expect(await admin.zcard('q1:{app:lock:prefixed}')).toBe(1));
    const releasedAt = performance.now();
    await lease.release();
    await (await waiting).release();
    expect(performance.now() - releasedAt).toBeLessThan(500);
    expect(client.status).toBe('ready');
    expect(await admin.exists('app:lock:prefixed')).toBe(0);
  });
});
