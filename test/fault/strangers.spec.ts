import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

describe('P10: a process that is not the holder changes nothing', () => {
  const world = useLockWorld();
  const ttlMs = 30_000;

  /** All that Redis stores for the lock, its expiry included. */
  async function state(key: string) {
    const lock = PREFIX + key;
    const [owner, expiry, queue] = await Promise.all([
      world.client.get(lock),
      world.client.pexpiretime(lock),
      world.client.zrange(`q1:{${lock}}`, '0', '-1', 'WITHSCORES'),
    ]);
    return { owner, expiry, queue };
  }

  it('by a release, also with a hand-over request, and by a renewal', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await alice.acquire(key, { ttl: ttlMs });
    const before = await state(key);
    const stranger = { key, ownerToken: `${'b'.repeat(22)}:1` };
    const next = { ownerToken: `${'b'.repeat(22)}:2`, ttlMs, block: 1 };
    expect(await bob.store.release(stranger)).toMatchObject({ outcome: 'lost' });
    expect(await bob.store.release({ ...stranger, next })).toMatchObject({ outcome: 'lost' });
    expect(await bob.store.release({ ...stranger, grantOwn: { ttlMs, block: 1 } })).toMatchObject({ outcome: 'lost' });
    expect(await bob.store.renew([{ ...stranger, ttlMs: 2 * ttlMs }])).toEqual(['taken']);
    expect(await state(key)).toEqual(before);
    await lease.release();
  });

  it('by the release of a lease that has been lost to another', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    const late = await alice.acquire(key, { ttl: ttlMs });
    await world.client.del(PREFIX + key);
    const lease = await bob.acquire(key, { ttl: ttlMs });
    const before = await state(key);
    await late.release();
    await late.release();
    expect(await state(key)).toEqual(before);
    expect(lease.isHeld()).toBe(true);
    await lease.release();
  });

  it('by releasing twice, and twice at once, also when another process holds the lock in between', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    const first = await alice.acquire(key);
    await Promise.all([first.release(), first.release()]);
    const second = await bob.acquire(key);
    await first.release();
    expect(await world.owner(key)).toBe(second.grant.ownerToken);
    await second.release();
  });

  it('by extend() on a lost lease, which rejects with LEASE_LOST', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    const late = await alice.acquire(key, { ttl: ttlMs });
    await world.client.del(PREFIX + key);
    const lease = await bob.acquire(key, { ttl: ttlMs });
    const before = await state(key);
    await expect(late.extend('1m')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await expect(late.extend('1m')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await state(key)).toEqual(before);
    await lease.release();
  });
});
