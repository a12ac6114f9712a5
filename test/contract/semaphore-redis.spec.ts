import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';

import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { startRedisServer } from '../support/redis-server.js';

const TTL = 20_000;
const kind = 'semaphore';
const prefix = 'lock:';
const keys = new RedisKeys(prefix);
const processId = randomBytes(16).toString('base64url');

describe('A semaphore in Redis', () => {
  let client: Redis;
  let store: RedisLockStore;
  let url = '';
  let key = '';
  let count = 0;
  const token = (sequence: number, weight: number): string => `${processId}:${sequence}P3:${weight}`;
  const acquire = (sequence: number, weight = 1, wait = true) =>
    store.acquire({ key, kind, ownerToken: token(sequence, weight), ttlMs: TTL, wait, block: 1 });
  const release = (sequence: number, weight = 1) => store.release({ key, kind, ownerToken: token(sequence, weight) });
  const renew = async (sequence: number, ttlMs: number, weight = 1) =>
    (await store.renew([{ key, kind, ownerToken: token(sequence, weight), ttlMs }]))[0];
  const names = async () => (await client.keys('*')).filter((name) => name.includes(key)).sort();

  beforeAll(async () => {
    const server = await startRedisServer({ config: { 'maxmemory-policy': 'noeviction' } });
    client = new Redis(server.url);
    onCleanup(() => client.disconnect());
    ({ url } = server);
    store = RedisLockStore.open(url, { prefix });
    onCleanup(() => store.close());
    await store.subscribe(processId, { message: () => undefined, resubscribed: () => undefined });
  });
  beforeEach(() => (key = `permits-${(count += 1)}`));

  it('writes no key without a TTL, and leaves no key behind', async () => {
    await acquire(1, 2);
    await acquire(2, 2);
    expect(await names()).toEqual([`lock:${key}`, `s1:{lock:${key}}`, `sa1:{lock:${key}}`, `sq1:{lock:${key}}`]);
    for (const name of await names()) expect(await client.pttl(name)).toBeGreaterThan(0);
    await release(2, 2);
    await release(1, 2);
    expect(await names()).toEqual([]);
  });

  it('keeps foreign clients out as long as a permit is held, and no longer', async () => {
    const setIfFree = () => client.set(keys.lock(key), 'x', 'PX', TTL, 'NX');
    await acquire(1);
    expect(await setIfFree()).toBeNull();
    await release(1);
    expect(await setIfFree()).toBe('OK');
    expect(await acquire(2)).toMatchObject({ outcome: 'queued', foreign: true });
    await release(2);
  });

  it('ends to the millisecond with the last lease, and its leases with it', async () => {
    await acquire(1);
    await acquire(2);
    await renew(1, 60_000);
    const lock = keys.lock(key);
    const [held] = keys.permits(lock);
    for (const sequence of [1, 2]) {
      const ends = (await client.zrange(held, '0', '-1', 'WITHSCORES')).filter((_, i) => i % 2 === 1).map(Number);
      expect(await client.pexpiretime(lock)).toBe(Math.max(...ends));
      expect(await client.pexpiretime(held)).toBe(Math.max(...ends));
      await release(sequence);
    }
  });

  it('keeps every lease and hands leases over on a full server; only new ones are refused', async () => {
    await acquire(1, 2);
    await acquire(2, 1);
    await acquire(3, 2);
    await client.config('SET', 'maxmemory', '1mb');
    const full = expect.objectContaining({ message: expect.stringContaining('OOM') as string });

    expect(await renew(1, 60_000, 2)).toBe(0);
    expect(await acquire(1, 2)).toMatchObject({ outcome: 'granted' });
    await expect(acquire(4)).rejects.toEqual(full);
    expect(await release(1, 2)).toEqual({ outcome: 'free' });
    expect(await acquire(3, 2)).toMatchObject({ outcome: 'granted' });
    expect(await release(3, 2)).toEqual({ outcome: 'free' });
    expect(await release(2)).toEqual({ outcome: 'free' });
    await expect(acquire(5)).rejects.toEqual(full);
    await expect(acquire(6, 1, false)).rejects.toEqual(full);
    expect(await names()).toEqual([]);
    await client.config('SET', 'maxmemory', '0');
  });

  it('leaves no key without a TTL when a command fails half-way, at a helper key of another type', async () => {
    const [, queue, places] = keys.permits(keys.lock(key));
    for (const helper of [queue, places]) {
      await client.set(helper, 'x', 'PX', TTL);
      await Promise.allSettled([acquire(1, 3)]);
      await expect(acquire(2)).rejects.toThrow('WRONGTYPE');
      for (const name of await names()) expect(await client.pttl(name)).toBeGreaterThan(0);
      await client.del(...(await names()));
    }
  });
});
