import { jest } from '@jest/globals';

import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import { LockEvents } from '../events.js';
import type { Lease } from './lease/lease.js';
import {
  LOCK_DEFAULTS,
  type LockOptions,
  type ResolvedLockOptions,
  resolveLockOptions,
} from '../options/lock-options.js';
import { type LockMessage, LockStoreError } from '../store/lock-store.js';
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
    here.acquire({ ...call('', options), key: keys });

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
    await clock.pass(1_001);
    for (const key of ['a', 'b']) await (await there.acquire(call(key))).release();
  });
});

describe('A key that is kept after its work, and whose renewals get no reply', () => {
  const start = (options: LockOptions) => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const subscribe = jest.spyOn(world.store, 'subscribe');
    const [here, there] = [world.process(), world.process()];
    const receive = (message: LockMessage): void => subscribe.mock.calls[0][1].message(message);
    const other: LockOptions = options.kind === undefined ? {} : { kind: 'write' };
    const isFree = async (): Promise<boolean> => {
      try {
        await (await there.acquire('k', options.permits === undefined ? other : options)).release();
        return true;
      } catch (error) {
        expect(error).toMatchObject({ code: 'LOCK_CONTENDED' });
        return false;
      }
    };
    /** The store executes the renewals, and their replies are lost. */
    const loseReplies = (): void => {
      here.detours.renew = async (ask) => {
        await ask();
        throw new LockStoreError('it did not answer in time.', true);
      };
    };
    return { clock, here, isFree, loseReplies, receive };
  };

  it.each([
    ['minHold', { ttl: 1_000, minHold: 1_500 }],
    ["minHold and release: 'expire'", { ttl: 1_000, minHold: 1_500, release: 'expire' }],
    ['minHold of a reader', { ttl: 1_000, minHold: 1_500, kind: 'read' }],
    ['minHold of a semaphore', { ttl: 1_000, minHold: 1_500, kind: 'semaphore', permits: 1 }],
  ] as const)('is not released before its time has passed: %s', async (_, options) => {
    const { clock, here, isFree, loseReplies } = start(options);
    loseReplies();
    await (await here.acquire('k', options)).release();
    await clock.pass(1_300);
    expect(await isFree()).toBe(false);
    await clock.pass(210);
    expect(await isFree()).toBe(true);
  });

  it.each([
    ["release: 'expire'", { ttl: 1_000, release: 'expire' }, 100],
    ['minHold', { ttl: 1_000, minHold: 1_500 }, 1_300],
  ] as const)('is not released by the late message of an offer: %s', async (_, options, afterMs) => {
    const { clock, here, isFree, loseReplies, receive } = start(options);
    loseReplies();
    const lease = await here.acquire('k', options);
    await lease.release();
    await clock.pass(afterMs);
    receive({ type: 'granted', key: 'k', ownerToken: lease.grant.ownerToken });
    await clock.pass(1);
    expect(await isFree()).toBe(false);
  });

  it('is kept for the rest of its time by a shutdown', async () => {
    const options: LockOptions = { ttl: 1_000, minHold: 5_000, kind: 'semaphore', permits: 1 };
    const { clock, here, isFree, loseReplies } = start(options);
    loseReplies();
    await (await here.acquire('k', options)).release();
    await clock.pass(1_300);
    delete here.detours.renew;
    await here.engine.drain(100);
    await here.engine.close();
    await clock.pass(3_600);
    expect(await isFree()).toBe(false);
    await clock.pass(110);
    expect(await isFree()).toBe(true);
  });

  it('is undone at once when it was taken away', async () => {
    const { clock, here, isFree } = start({});
    let undone = 0;
    here.detours.release = (ask) => {
      undone += 1;
      return ask();
    };
    await (await here.acquire('k', { ttl: 1_000, minHold: 1_500 })).release();
    await here.engine.forceRelease('k');
    await clock.pass(400);
    expect(undone).toBe(1);
    expect(await isFree()).toBe(true);
  });
});

describe('A key that outlasts its work, when the work outlasts its lease', () => {
  const start = () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process(), world.process()];
    const isFree = async (options: LockOptions): Promise<boolean> => {
      const other = await there.acquire('k', options).catch(() => undefined);
      await other?.release();
      return other !== undefined;
    };
    return { clock, here, isFree };
  };

  it.each([
    ["release: 'expire'", { release: 'expire' }, {}],
    ['minHold', { minHold: '100s' }, {}],
    ["release: 'expire' of a reader", { release: 'expire', kind: 'read' }, { kind: 'write' }],
    ["release: 'expire' of a semaphore", { release: 'expire', kind: 'semaphore', permits: 1 }, undefined],
  ] as const)('stays locked until its ttl has passed: %s', async (_, options, other: LockOptions = options) => {
    const { clock, here, isFree } = start();
    const lease = await here.acquire('k', { ttl: '100s', renew: false, ...options });
    await clock.pass(99_900);
    expect(lease.signal.reason).toMatchObject({ reason: 'expired' });
    expect(await isFree(other)).toBe(false);
    await clock.pass(1_110);
    expect(await isFree(other)).toBe(true);
  });

  it('stays locked until its ttl has passed, when its renewals get no reply', async () => {
    const { clock, here, isFree } = start();
    const lease = await here.acquire('k', { ttl: '100s', release: 'expire' });
    here.detours.renew = () => new Promise(() => undefined);
    await clock.pass(99_900);
    expect(lease.signal.reason).toMatchObject({ reason: 'outage' });
    expect(await isFree({})).toBe(false);
    await clock.pass(110);
    expect(await isFree({})).toBe(true);
  });

  it('no longer counts as kept', async () => {
    const clock = new ManualClock();
    const options = resolveLockOptions({ ttl: '1s', release: 'expire', renew: false });
    const few = new LockEngine(new MemoryLockStore(clock), {
      ...{ defaults: LOCK_DEFAULTS, maxWaitersPerKey: 10, maxWaiters: 10, maxKept: 1 },
      ...{ events: new LockEvents(), clock },
    });
    for (const key of ['a', 'b']) {
      await few.acquire({ key, name: 'x', options, scoped: false });
      await clock.pass(1_100);
    }
  });
});
