import { ManualClock } from '../../../../test/support/manual-clock.js';
import { LockEvents } from '../events.js';
import type { Lease } from './lease/lease.js';
import { LOCK_DEFAULTS, type ResolvedLockOptions } from '../options/lock-options.js';
import { MemoryLockStore } from '../store/memory/memory-lock-store.js';
import { LockEngine } from './lock-engine.js';

const MOST = 3;
const MIN_HOLD: Partial<ResolvedLockOptions> = { ttlMs: 1_000, minHoldMs: 700 };
const EXPIRE: Partial<ResolvedLockOptions> = { ttlMs: 1_000, release: 'expire' };
const TOO_MANY = {
  code: 'LOCK_UNAVAILABLE',
  message:
    'The lock "x" keeps its key after its work, and this process has 3 such locks already. Try again later, shorten "minHold" or "ttl", or raise "maxKept".',
};

describe('Leases that outlast their work', () => {
  function start() {
    const clock = new ManualClock();
    const store = new MemoryLockStore(clock);
    const settings = { defaults: LOCK_DEFAULTS, maxWaitersPerKey: 10, maxWaiters: 100, maxKept: MOST };
    const engine = new LockEngine(store, { ...settings, events: new LockEvents(), clock });
    const call = (key: string, options: Partial<ResolvedLockOptions>) => ({
      key,
      name: 'x',
      options: { ...LOCK_DEFAULTS, ...options },
      scoped: false,
    });
    const take = (key: string, options = MIN_HOLD): Promise<Lease> => engine.acquire(call(key, options));
    const takeAll = (keys: readonly string[], options = MIN_HOLD): Promise<Lease> =>
      engine.acquire({ ...call('', options), key: keys });
    return { clock, engine, take, takeAll };
  }

  it.each([
    ['minHold', MIN_HOLD],
    ["release: 'expire'", EXPIRE],
    ["release: 'expire' of readers", { ...EXPIRE, kind: 'read' }],
    ["release: 'expire' of a semaphore", { ...EXPIRE, kind: 'semaphore', permits: 2 }],
  ] as const)('are limited while they are kept: %s', async (_, options) => {
    const { clock, take } = start();
    for (let i = 0; i < MOST; i += 1) await (await take(`k${i}`, options)).release();
    await expect(take('one more', options)).rejects.toMatchObject(TOO_MANY);
    await (await take('an ordinary one', {})).release();
    await clock.pass(20_000);
    await (await take('one more', options)).release();
  });

  it('are limited before the work runs, also for concurrent calls', async () => {
    const { take } = start();
    const calls = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => take(`k${i}`)));
    expect(calls.filter(({ status }) => status === 'fulfilled')).toHaveLength(MOST);
    for (const each of calls.slice(MOST)) expect(each).toMatchObject({ status: 'rejected', reason: TOO_MANY });
  });

  it('no longer count after a refusal, an abort, a loss or an early release', async () => {
    const { clock, engine, take, takeAll } = start();
    const held = await take('held', {});
    for (let i = 0; i < 5; i += 1) await expect(take('held')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    for (let i = 0; i < 5; i += 1) {
      await expect(takeAll(['free', 'held'])).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    for (let i = 0; i < 5; i += 1) {
      const waiting = expect(take('held', { ...MIN_HOLD, waitMs: 10 })).rejects.toMatchObject({
        code: 'LOCK_WAIT_TIMEOUT',
      });
      await clock.pass(10);
      await waiting;
    }
    for (let i = 0; i < 5; i += 1) {
      const lost = await take(`lost${i}`);
      await engine.forceRelease(`lost${i}`);
      await clock.pass(400);
      expect(lost.isHeld()).toBe(false);
      await lost.release();
    }
    await held.release();
    for (let i = 0; i < MOST; i += 1) await (await take(`k${i}`)).release();
    await expect(take('one more')).rejects.toMatchObject(TOO_MANY);
  });

  it('count each key of a multi-key call', async () => {
    const { takeAll, take } = start();
    await (await takeAll(['a', 'b', 'c'])).release();
    await expect(take('d')).rejects.toMatchObject(TOO_MANY);
  });
});
