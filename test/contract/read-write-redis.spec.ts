import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';

import type { LockKind } from '../../libs/distribute-lock/src/store/lock-store.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';

const TTL = 20_000;
const prefix = 'lock:';
const keys = new RedisKeys(prefix);
const processId = randomBytes(16).toString('base64url');

describe('A read/write lock in Redis', () => {
  let client: Redis;
  let store: RedisLockStore;
  let key = '';
  let count = 0;
  /** A foreign client that only uses `SET key value NX PX ttl`. */
  const setIfFree = () => client.set(keys.lock(key), 'x', 'PX', TTL, 'NX');
  const token = (sequence: number, kind: LockKind): string => `${processId}:${sequence}${kind === 'read' ? ':r' : ''}`;
  const acquire = (sequence: number, kind: LockKind, ttlMs = TTL, wait = true) =>
    store.acquire({ key, kind, ownerToken: token(sequence, kind), ttlMs, wait, block: 1 });
  const release = (sequence: number, kind: LockKind) => store.release({ key, kind, ownerToken: token(sequence, kind) });
  const renew = async (sequence: number, kind: LockKind) =>
    (await store.renew([{ key, kind, ownerToken: token(sequence, kind), ttlMs: TTL }]))[0];
  const setMaxMemory = (size: string) => client.config('SET', 'maxmemory', size);

  beforeAll(async () => {
    const server = await startRedisServer({ config: { 'maxmemory-policy': 'noeviction' } });
    client = new Redis(server.url);
    onCleanup(() => client.disconnect());
    store = RedisLockStore.open(server.url, { prefix });
    onCleanup(() => store.close());
    await store.subscribe(processId, { message: () => undefined, resubscribed: () => undefined });
  });
  beforeEach(() => (key = `rw-${(count += 1)}`));

  it('keeps foreign clients out as long as a reader holds it, and no longer', async () => {
    await acquire(1, 'read');
    await acquire(2, 'read');
    expect(await setIfFree()).toBeNull();
    await release(1, 'read');
    expect(await setIfFree()).toBeNull();
    await release(2, 'read');
    expect(await setIfFree()).toBe('OK');
    expect(await acquire(3, 'read')).toMatchObject({ outcome: 'queued', foreign: true });
  });

  it('writes no key without a TTL, and leaves no key behind', async () => {
    await acquire(1, 'read');
    await acquire(2, 'write');
    await acquire(3, 'read');
    const names = (await client.keys('*')).filter((name) => name.includes(key));
    expect(names.sort()).toEqual([`g1:{lock:${key}}`, `lock:${key}`, `q1:{lock:${key}}`, `r1:{lock:${key}}`]);
    for (const name of names) expect(await client.pttl(name)).toBeGreaterThan(0);
    for (const [sequence, kind] of [
      [3, 'read'],
      [2, 'write'],
      [1, 'read'],
    ] as const)
      await release(sequence, kind);
    expect((await client.keys('*')).filter((name) => name.includes(key))).toEqual([]);
  });

  it('forgets the lease of a crashed reader while other readers continue', async () => {
    await acquire(1, 'read', 50);
    await acquire(2, 'read');
    const readers = keys.readers(keys.lock(key));
    await eventually(async () => {
      await renew(2, 'read');
      expect(await client.zrange(readers, '0', '-1')).toEqual([token(2, 'read')]);
    });
    expect(await renew(1, 'read')).toBe('lost');
  });

  it('keeps all callers out when an operator deleted the leases, until the last of them would have ended', async () => {
    await acquire(1, 'read');
    await acquire(2, 'write');
    await acquire(3, 'read');
    const lock = keys.lock(key);
    await client.del(keys.readers(lock));
    const endsAt = await client.pexpiretime(lock);
    expect(await renew(1, 'read')).toBe('lost');
    expect(await release(1, 'read')).toMatchObject({ outcome: 'lost' });
    expect(await release(2, 'write')).toMatchObject({ outcome: 'lost' });
    for (const kind of ['read', 'write', 'exclusive'] as const) {
      expect(await acquire(4, kind, TTL, false)).toMatchObject({ outcome: 'busy', foreign: false });
    }
    expect(await acquire(3, 'read')).toMatchObject({ outcome: 'queued' });
    expect([await client.get(lock), await client.pexpiretime(lock)]).toEqual(['readers', endsAt]);
  });

  it('keeps every lease on a full server, and hands leases over; only new ones are refused', async () => {
    await acquire(1, 'write');
    await acquire(2, 'read');
    await acquire(3, 'write');
    await setMaxMemory('1mb');
    const full = expect.objectContaining({ message: expect.stringContaining('OOM') as string });

    const readToken = token(4, 'read');
    expect(await store.downgrade({ key, ownerToken: token(1, 'write'), readToken, ttlMs: TTL })).toBe(1);
    expect(await acquire(2, 'read')).toMatchObject({ outcome: 'granted' });
    expect([await renew(4, 'read'), await renew(2, 'read')]).toEqual([1, 1]);
    await expect(acquire(5, 'read')).rejects.toEqual(full);
    await expect(acquire(6, 'write')).rejects.toEqual(full);
    expect(await release(4, 'read')).toEqual({ outcome: 'passed' });
    expect(await release(2, 'read')).toEqual({ outcome: 'passed' });
    expect(await acquire(3, 'write')).toMatchObject({ outcome: 'granted' });
    expect(await release(3, 'write')).toEqual({ outcome: 'free' });
    await expect(acquire(7, 'read')).rejects.toEqual(full);
    await expect(acquire(8, 'write')).rejects.toEqual(full);
    expect(await client.exists(keys.lock(key))).toBe(0);
    await setMaxMemory('0');
  });

  it('hands an exclusive lock over to waiting readers on a full server', async () => {
    await acquire(1, 'exclusive');
    await acquire(2, 'exclusive');
    await acquire(3, 'read');
    await setMaxMemory('1mb');
    expect(await release(1, 'exclusive')).toEqual({ outcome: 'passed' });
    expect(await acquire(3, 'read')).toMatchObject({ outcome: 'granted', waiting: 1 });
    expect(await release(3, 'read')).toEqual({ outcome: 'passed' });
    expect(await client.get(keys.lock(key))).toBe(token(2, 'exclusive'));
    await setMaxMemory('0');
  });
});
