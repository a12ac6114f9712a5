import type { LockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { PREFIX } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

const MAX_HOLD_MS = 3_000;

const HOLDS: Record<string, LockOptions> = {
  'an exclusive lock with a longer ttl': { ttl: '30s' },
  'an exclusive lock that is renewed': { ttl: 2_700 },
  'an exclusive lock that is not renewed': { ttl: '30s', renew: false },
  'a read lock with a longer ttl': { ttl: '30s', kind: 'read' },
  'permits with a longer ttl': { ttl: '30s', kind: 'semaphore', permits: 1 },
};

describe('P25: maxHold ends a hold', () => {
  const world = useLockWorld();

  it.each(Object.entries(HOLDS))('of %s: the signal aborts, and the key ends', async (_, options) => {
    const [locks, others] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await locks.acquire(key, { ...options, maxHold: MAX_HOLD_MS });
    const before = monotonicMs();
    let abortedAt = Infinity;
    lease.signal.addEventListener('abort', () => (abortedAt = monotonicMs()));
    expect(await world.client.pttl(PREFIX + key)).toBeLessThanOrEqual(MAX_HOLD_MS);
    const next = await others.acquire(key, {
      ...options,
      kind: options.kind === 'read' ? 'write' : options.kind,
      wait: '5s',
    });
    expectBelow(abortedAt - before, MAX_HOLD_MS);
    expectBelow(monotonicMs() - before, MAX_HOLD_MS + 250);
    expect(lease.isHeld()).toBe(false);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'maxHold' });
    expect(locks.events.map(({ type }) => type)).toEqual(['acquired', 'lost']);
    await lease.release();
    expect(next.isHeld()).toBe(true);
    await next.release();
  });

  it('also when the lease was extended beyond it', async () => {
    const locks = world.locks();
    const key = world.newKey();
    const lease = await locks.acquire(key, { ttl: 300, maxHold: MAX_HOLD_MS });
    const before = monotonicMs();
    await lease.extend('1h');
    expect(await world.client.pttl(PREFIX + key)).toBeLessThanOrEqual(MAX_HOLD_MS);
    await eventually(() => expect(lease.signal.aborted).toBe(true), MAX_HOLD_MS + 500);
    expectBelow(monotonicMs() - before, MAX_HOLD_MS + 50);
    await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
  });

  it("and leaves the key to its ttl with release: 'expire'", async () => {
    const locks = world.locks();
    const key = world.newKey();
    const lease = await locks.acquire(key, { ttl: 3_000, maxHold: 400, release: 'expire' });
    await eventually(() => expect(lease.signal.aborted).toBe(true), 1_000);
    expect(await world.client.pttl(PREFIX + key)).toBeGreaterThan(1_500);
  });
});

describe('P13: minHold at shutdown', () => {
  const world = useLockWorld();

  it.each(['exclusive', 'read', 'semaphore'] as const)('leaves the rest to the ttl of the key (%s)', async (kind) => {
    const locks = world.locks();
    const key = world.newKey();
    const permits = kind === 'semaphore' ? { permits: 1 } : {};
    const lease = await locks.acquire(key, { kind, ...permits, ttl: '30s', minHold: 1_500 });
    await lease.release();
    await locks.engine.drain(50);
    await locks.engine.close();
    const left = await world.client.pttl(PREFIX + key);
    expect(left).toBeGreaterThan(500);
    expectBelow(left, 1_505);
  });

  it.each(['exclusive', 'read', 'semaphore'] as const)('leaves the rest to the ttl of every key (%s)', async (kind) => {
    const locks = world.locks();
    const keys = Array.from({ length: 4 }, () => world.newKey());
    const permits = kind === 'semaphore' ? { permits: 1 } : {};
    for (const key of keys)
      await (await locks.acquire(key, { kind, ...permits, ttl: 1_000, minHold: '20s' })).release();
    await locks.engine.drain(50);
    await locks.engine.close();
    for (const key of keys) expect(await world.client.pttl(PREFIX + key)).toBeGreaterThan(15_000);
  });
});
