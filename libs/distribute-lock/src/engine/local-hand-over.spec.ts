import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld, twoProcesses } from '../../../../test/support/manual-world.js';
import { FencingBlock, type Grant } from './lease/grant.js';
import { planOf } from './lease/lifetime-plan.js';
import { LOCK_DEFAULTS } from '../options/lock-options.js';
import { QUANTUM_HOLDS, QUANTUM_MS, mayHandOver } from './local-hand-over.js';

describe('mayHandOver', () => {
  const NOW = 10_000;
  const options = { ...LOCK_DEFAULTS, ttlMs: 1_000 };
  const next = planOf(options);
  const grant = (more: object = {}): Grant =>
    ({
      ended: false,
      block: new FencingBlock(1, 1),
      ttlMs: 1_000,
      validUntil: NOW + 900,
      startedAt: NOW - 90,
      ...more,
    }) as Grant;

  it('allows a hand-over while two thirds of the ttl are left, less the safety margin of 1 % and 2 ms', () => {
    expect(mayHandOver(grant({ validUntil: NOW + 655 }), next, NOW)).toBe(true);
    expect(mayHandOver(grant({ validUntil: NOW + 654 }), next, NOW)).toBe(false);
  });

  it('rejects an expired grant whose timer has not fired yet', () => {
    expect(mayHandOver(grant({ validUntil: NOW - 1 }), next, NOW)).toBe(false);
    expect(mayHandOver(grant({ ended: true }), next, NOW)).toBe(false);
  });

  it('rejects a caller with a shorter ttl, whose crash would block other callers for longer than that', () => {
    expect(mayHandOver(grant({ ttlMs: 1_001 }), next, NOW)).toBe(false);
    expect(mayHandOver(grant({ ttlMs: 3_600_000, validUntil: NOW + 3_500_000 }), next, NOW)).toBe(false);
  });

  it('rejects a caller with a longer ttl than the grant has', () => {
    expect(mayHandOver(grant(), planOf({ ...options, ttlMs: 1_500 }), NOW)).toBe(false);
    expect(mayHandOver(grant(), planOf({ ...options, renew: false }), NOW)).toBe(false);
    expect(mayHandOver(grant({ block: new FencingBlock(1, 0) }), next, NOW)).toBe(false);
  });

  it('limits the holds and the time while another process waits', () => {
    const contended = { contended: true, passes: 1, startedAt: NOW };
    expect(mayHandOver(grant(contended), next, NOW)).toBe(true);
    expect(mayHandOver(grant({ ...contended, passes: QUANTUM_HOLDS }), next, NOW)).toBe(false);
    expect(mayHandOver(grant({ ...contended, startedAt: NOW - QUANTUM_MS }), next, NOW)).toBe(false);
    expect(mayHandOver(grant({ contended: false, passes: 100_000 }), next, NOW)).toBe(true);
  });
});

describe('Waiters of two processes that hold the lock for almost no time', () => {
  it('change the process after 32 holds', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const processes = [1, 2].map(() => world.process({}, 100));
    const first = await processes[0].acquire('k');
    const order: number[] = [];
    const waiters = processes.flatMap((one, i) =>
      Array.from({ length: 64 }, async () => {
        const lease = await one.acquire('k', { wait: '20s' });
        order.push(i);
        await lease.release();
      }),
    );
    await clock.pass(10);
    await first.release();
    for (let turn = 0; turn < 200; turn += 1) {
      clock.turn();
      await clock.pass(0);
    }
    const turns = order.reduce<number[]>((found, i, at) => {
      if (order[at - 1] === i) found[found.length - 1] += 1;
      else found.push(1);
      return found;
    }, []);
    expect(turns).toEqual([32, 32, 32, 32]);
    await Promise.all(waiters);
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
