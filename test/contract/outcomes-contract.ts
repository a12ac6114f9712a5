import { setTimeout } from 'node:timers/promises';

import type { LockContendedError } from '../../libs/distribute-lock/src/errors.js';
import type { LockEvent } from '../../libs/distribute-lock/src/events.js';
import type { RetryAfterInfo } from '../../libs/distribute-lock/src/options/retry-after.js';
import { eventually } from '../support/eventually.js';
import { type Process, startProcess, type World } from './world.js';

/** What events and errors report about calls and leases. */
export function describeOutcomesContract(makeWorld: () => World): void {
  const world = makeWorld();
  const here = startProcess(world);
  const there = startProcess(world);
  let count = 0;
  const newKey = (): string => `outcomes-${(count += 1)}`;

  it('reports the wait and the hold of a call, never less than 0 and never more than the call took', async () => {
    const key = newKey();
    for (let i = 0; i < 300; i += 1) {
      here.events.length = 0;
      const calledAt = performance.now();
      const lease = await here.acquire(key);
      const grantedAt = performance.now();
      await lease.release();
      const tookMs = performance.now() - calledAt;
      const [acquired, released] = here.events;
      expect(acquired?.waitedMs).toBeGreaterThanOrEqual(0);
      expect(acquired?.waitedMs).toBeLessThanOrEqual(grantedAt - calledAt);
      expect(released?.heldMs).toBeGreaterThanOrEqual(0);
      expect(released?.heldMs).toBeLessThanOrEqual(tookMs);
    }
  });

  it('reports a deleted key and a key of another owner as different reasons of a loss', async () => {
    const [deleted, taken] = await Promise.all([newKey(), newKey()].map((key) => here.acquire(key, { ttl: '1500ms' })));
    await world.overwrite(deleted.key, undefined);
    await world.overwrite(taken.key, 'stranger', 60_000);
    await eventually(() => expect([deleted, taken].map(({ signal }) => signal.aborted)).toEqual([true, true]));
    expect(deleted.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'deleted' });
    expect(taken.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'taken' });
    await world.overwrite(taken.key, undefined);
  });

  const contended = async (by: Process, key: string, name: string): Promise<number> => {
    const error: unknown = await by.acquire(key, { name }).catch((refusal: unknown) => refusal);
    expect(error).toMatchObject({ code: 'LOCK_CONTENDED' });
    return (error as LockContendedError).retryAfterMs;
  };

  it('estimates retryAfterMs from the holds of that name, and as 1 s without any', async () => {
    const key = newKey();
    const name = 'short work';
    let longestMs = 0;
    for (const heldMs of [60, 50, 70]) {
      const calledAt = performance.now();
      const lease = await here.acquire(key, { name });
      await setTimeout(heldMs);
      await lease.release();
      longestMs = Math.max(longestMs, Math.ceil(performance.now() - calledAt));
    }
    const lease = await here.acquire(key, { name, ttl: '30s' });
    expect(await contended(here, key, name)).toBeLessThanOrEqual(longestMs);
    expect(await contended(there, key, name)).toBe(1_000);
    await lease.release();
    const other = await there.acquire(key, { name: 'unknown work', ttl: '30s' });
    const estimate = await contended(here, key, name);
    expect(estimate).toBeGreaterThanOrEqual(50);
    expect(estimate).toBeLessThan(1_000);
    await other.release();
  });

  it('estimates at most the rest of the lease', async () => {
    const key = newKey();
    const lease = await here.acquire(key, { ttl: 500, renew: false });
    for (const by of [here, there]) {
      const estimate = await contended(by, key, 'unobserved');
      expect(estimate).toBeGreaterThan(0);
      expect(estimate).toBeLessThanOrEqual(500);
    }
    await lease.release();
  });

  it('estimates nothing when the option retryAfter has a value', async () => {
    const infos: RetryAfterInfo[] = [];
    const wrong = startProcess(world, { retryAfter: () => 'soon' as never });
    const fixed = startProcess(world, { retryAfter: '7s' });
    const made = startProcess(world, {
      retryAfter: (info) => {
        infos.push(info);
        return 4_321;
      },
    });
    const key = newKey();
    const lease = await here.acquire(key, { ttl: '30s' });
    expect(await contended(wrong, key, 'a')).toBe(1_000);
    expect(await contended(fixed, key, 'a')).toBe(7_000);
    expect(await contended(made, key, 'a')).toBe(4_321);
    expect(infos).toEqual([{ name: 'a', key, kind: 'exclusive', remainingMs: expect.any(Number), estimateMs: 1_000 }]);
    await lease.release();
  });

  it('reports a lease that is held too long once, with the number of waiters', async () => {
    const slow = startProcess(world, { warnAfterMs: 300 });
    const key = newKey();
    const lease = await slow.acquire(key, { name: 'slow work', ttl: '30s' });
    const waiting = [slow.acquire(key, { wait: '20s' }), slow.acquire(key, { wait: '20s' })];
    const reports = (): readonly LockEvent[] => slow.events.filter(({ type }) => type === 'held-long');
    await eventually(() => expect(reports()).not.toEqual([]));
    await setTimeout(600);
    const reported = reports();
    // Real time: a second report would come after the pause at the earliest.
    expect(reported).toEqual([{ type: 'held-long', name: 'slow work', heldMs: expect.any(Number), waiting: 2 }]);
    expect(reported[0]?.heldMs).toBeGreaterThanOrEqual(299);
    await lease.release();
    for (const next of waiting) await (await next).release();
  });

  it.each(['read', 'semaphore'] as const)('reports each holder of kind %s once', async (kind) => {
    const slow = startProcess(world, { warnAfterMs: 300 });
    const key = newKey();
    const options = { kind, ttl: 1_500, ...(kind === 'semaphore' ? { permits: 2 } : {}) };
    const one = await slow.acquire(key, { ...options, name: 'one' });
    await setTimeout(150);
    const two = await slow.acquire(key, { ...options, name: 'two' });
    const reports = (): readonly LockEvent[] => slow.events.filter(({ type }) => type === 'held-long');
    await eventually(() => expect(reports()).toHaveLength(2));
    await setTimeout(600);
    const reported = reports();
    expect(reported.map(({ name }) => name)).toEqual(['one', 'two']);
    await Promise.all([one.release(), two.release()]);
  });

  describe('a signal that ends only the wait', () => {
    const left = AbortSignal.abort(new Error('left'));

    it('does not keep a caller from a free lock, before and while it aborts', async () => {
      const controller = new AbortController();
      const acquired = here.acquire(newKey(), { wait: '5s', endsWait: controller.signal });
      controller.abort();
      for (const lease of [await acquired, await here.acquire(newKey(), { wait: '5s', endsWait: left })]) {
        expect(lease.isHeld()).toBe(true);
        await lease.release();
      }
    });

    it('ends a wait for a lock that another caller holds, of this process or another, at once', async () => {
      const key = newKey();
      const lease = await here.acquire(key, { ttl: '30s' });
      for (const by of [here, there]) {
        const controller = new AbortController();
        const waiting = by.acquire(key, { wait: '5s', endsWait: controller.signal });
        const late = by.acquire(key, { wait: '5s', endsWait: left });
        await expect(late).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
        controller.abort(new Error('left'));
        await expect(waiting).rejects.toMatchObject({ code: 'LOCK_ABORTED', cause: { message: 'left' } });
      }
      await lease.release();
      await eventually(async () => expect([await world.owner(key), await world.waiting(key)]).toEqual([undefined, 0]));
    });

    it('does not keep a caller from several free keys', async () => {
      const lease = await here.acquireMultiKey([newKey(), newKey()], { wait: '5s', endsWait: left });
      expect(lease.isHeld()).toBe(true);
      await lease.release();
    });
  });
}
