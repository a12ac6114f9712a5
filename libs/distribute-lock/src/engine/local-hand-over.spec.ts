import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld, twoProcesses } from '../../../../test/support/manual-world.js';
import { FencingBlock, type Grant } from './lease/grant.js';
import type { Lease } from './lease/lease.js';
import { planOf } from './lease/lifetime-plan.js';
import { LOCK_DEFAULTS } from '../options/lock-options.js';
import { QUANTUM_HOLDS, QUANTUM_MS, mayHandOver } from './local-hand-over.js';

describe('mayHandOver', () => {
  const NOW = 10_000;
  const options = { ...LOCK_DEFAULTS, ttlMs: 1_000 };
  const next = planOf(options);
  /** A lease that began 10 ms ago. */
  const leaseOn = (more: object = {}, startedAt = NOW - 10) => {
    const grant = {
      ended: false,
      block: new FencingBlock(1, 1),
      ttlMs: 1_000,
      validUntil: NOW + 900,
      ...more,
    } as Grant;
    return { grant, startedAt };
  };
  const mayPass = (lease: ReturnType<typeof leaseOn>, to = next, inTurns = false): boolean =>
    mayHandOver(lease, to, NOW, inTurns);

  it('allows a hand-over while two thirds of the ttl are left, less the safety margin of 1 % and 2 ms', () => {
    expect(mayPass(leaseOn({ validUntil: NOW + 655 }))).toBe(true);
    expect(mayPass(leaseOn({ validUntil: NOW + 654 }))).toBe(false);
  });

  it('rejects an expired grant whose timer has not fired yet', () => {
    expect(mayPass(leaseOn({ validUntil: NOW - 1 }))).toBe(false);
    expect(mayPass(leaseOn({ ended: true }))).toBe(false);
  });

  it('rejects a caller with a shorter ttl, whose crash would block other callers for longer than that', () => {
    expect(mayPass(leaseOn({ ttlMs: 1_001 }))).toBe(false);
    expect(mayPass(leaseOn({ ttlMs: 3_600_000, validUntil: NOW + 3_500_000 }))).toBe(false);
  });

  it('rejects a caller with a longer ttl than the grant has', () => {
    expect(mayPass(leaseOn(), planOf({ ...options, ttlMs: 1_500 }))).toBe(false);
    expect(mayPass(leaseOn(), planOf({ ...options, renew: false }))).toBe(false);
    expect(mayPass(leaseOn({ block: new FencingBlock(1, 0) }))).toBe(false);
  });

  it('limits the holds and the time while another process waits', () => {
    const contended = { contended: true, passes: 1 };
    expect(mayPass(leaseOn(contended), next, true)).toBe(true);
    expect(mayPass(leaseOn({ ...contended, passes: QUANTUM_HOLDS }), next, true)).toBe(false);
    expect(mayPass(leaseOn(contended, NOW - QUANTUM_MS), next, true)).toBe(false);
    expect(mayPass(leaseOn({ ...contended, turnFrom: NOW - QUANTUM_MS }), next, true)).toBe(false);
    expect(mayPass(leaseOn({ contended: false, passes: 100_000 }, NOW - QUANTUM_MS))).toBe(true);
  });
});

/** How many holds in a row each process had. */
function turnsIn(order: readonly number[]): number[] {
  return order.reduce<number[]>((found, i, at) => {
    if (order[at - 1] === i) found[found.length - 1] += 1;
    else found.push(1);
    return found;
  }, []);
}

describe('Waiters of two processes that hold the lock for almost no time', () => {
  it.each([0, 2 * QUANTUM_MS])('change the process after 32 holds, when the store answers after %i ms', async (ms) => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const answers = new LateAnswers();
    const processes = [1, 2].map(() => world.process({ acquire: answers.detour }, 100));
    const order: number[] = [];
    const passTurns = async (turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) {
        clock.turn();
        const isLate = answers.size > 0;
        await clock.pass(isLate ? ms : 0);
        if (isLate) answers.arrive();
      }
    };
    const acquired = processes[0].acquire('k');
    await passTurns(5);
    const first = await acquired;
    const waiters = processes.flatMap((one, i) =>
      Array.from({ length: 64 }, async () => {
        const lease = await one.acquire('k', { wait: '20s' });
        order.push(i);
        await lease.release();
      }),
    );
    await passTurns(5);
    await clock.pass(10);
    await first.release();
    await passTurns(200);
    expect(turnsIn(order)).toEqual([32, 32, 32, 32]);
    await Promise.all(waiters);
  });
});

describe('Waiters of two processes that hold the lock for 10 ms', () => {
  it('change the process 25 ms after the first hold of a turn has begun', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const processes = [1, 2].map(() => world.process({}, 100));
    const first = await processes[0].acquire('k');
    const order: number[] = [];
    const granted: Lease[] = [];
    for (const [i, one] of processes.entries()) {
      for (let caller = 0; caller < 6; caller += 1) {
        void one.acquire('k', { wait: '20s' }).then((lease) => {
          order.push(i);
          granted.push(lease);
        });
      }
    }
    await clock.pass(10);
    await first.release();
    for (let step = 0; step < 100; step += 1) {
      clock.turn();
      const held = granted.splice(0);
      await clock.pass(held.length > 0 ? 10 : 0);
      for (const lease of held) await lease.release();
    }
    expect(turnsIn(order)).toEqual([3, 3, 3, 3]);
  });
});

describe('A forced release of one hold', () => {
  it('does not end a later hold of the same grant', async () => {
    const { clock, here, there } = twoProcesses();
    const before = await there.acquire('k');
    const [next, behind] = [1, 2].map(() => there.acquire('k', { wait: '20s' }));
    await clock.pass(10);
    await before.release();
    await clock.pass(10);
    // Its process has a fencing token for the next caller, too, so it could hand the grant over in memory.
    const first = await next;
    here.detours.force = async (force) => {
      // The holder releases between the answer of its process and the command that ends the hold.
      await first.release();
      await clock.pass(10);
      return force();
    };
    expect(await here.engine.forceRelease('k', first.fencingToken)).toBe(false);
    const second = await behind;
    await clock.pass(10);
    expect(second.isHeld()).toBe(true);
    await second.release();
  });
});
