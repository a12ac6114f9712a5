import { ManualClock } from '../../../../test/support/manual-clock.js';
import { LockEvents } from '../events.js';
import type { Lease } from './lease/lease.js';
import { LOCK_DEFAULTS, type ResolvedLockOptions } from '../options/lock-options.js';
import { MemoryLockStore } from '../store/memory/memory-lock-store.js';
import { LockEngine } from './lock-engine.js';

const KEPT: Partial<ResolvedLockOptions> = { ttlMs: 1_000, release: 'expire', minHoldMs: 700 };

describe('A key that is kept before or after the work', () => {
  const clock = new ManualClock();
  const events = new LockEvents();
  const store = new MemoryLockStore(clock);
  const make = (): LockEngine =>
    new LockEngine(store, {
      defaults: LOCK_DEFAULTS,
      maxWaitersPerKey: 10,
      maxWaiters: 10,
      events,
      clock,
    });
  const here = make();
  const there = make();
  const call = (key: string, options: Partial<ResolvedLockOptions> = {}) => ({
    key,
    name: 'x',
    options: { ...LOCK_DEFAULTS, ...options },
    scoped: false,
  });
  const take = (keys: readonly string[], options: Partial<ResolvedLockOptions>): Promise<Lease> =>
    here.acquireMultiKey(keys.map((key) => call(key, options)));

  // One command for all keys never takes read locks, so a non-waiting caller acquires the first key as well.
  it.each([
    ['read', 0, 'LOCK_CONTENDED'],
    ['exclusive', 300, 'LOCK_WAIT_TIMEOUT'],
  ] as const)('is released at once when no work has begun (%s, wait %i)', async (kind, waitMs, code) => {
    const held = await there.acquire(call('b'));
    const refused = expect(take(['a', 'b'], { ...KEPT, kind, waitMs })).rejects.toMatchObject({ code });
    await clock.pass(waitMs);
    await refused;
    await (await there.acquire(call('a'))).release();
    await held.release();
  });

  it('is renewed while the call waits for other keys, even if the work wants no renewal', async () => {
    const held = await there.acquire(call('b'));
    const waiting = take(['a', 'b'], { ttlMs: 300, renew: false, waitMs: 5_000 });
    const lost: unknown[] = [];
    events.listen((event) => lost.push(event), 'lost');
    await clock.pass(2_000);
    await expect(there.acquire(call('a'))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await held.release();
    const lease = await waiting;
    expect(lost).toEqual([]);
    expect(lease.remainingMs()).toBeGreaterThan(290);
    await lease.release();
  });

  it('is kept after the work of a multi-key call', async () => {
    await (await take(['a', 'b'], KEPT)).release();
    for (const key of ['a', 'b'])
      await expect(there.acquire(call(key))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await clock.pass(1_000);
    for (const key of ['a', 'b']) await (await there.acquire(call(key))).release();
  });
});
