import { LateAnswers, LateCommand } from '../../../../test/support/held-up-store.js';
import { ManualClock, settled } from '../../../../test/support/manual-clock.js';
import { type ManualProcess, ManualWorld } from '../../../../test/support/manual-world.js';
import { LOCK_DEFAULTS, type LockOptions, resolveLockOptions } from '../options/lock-options.js';
import type { Lease } from './lease/lease.js';

const TTL = 6_000;
const HALF_MS = TTL / 2;
/** Less than two thirds of the ttl. */
const PAUSE_MS = 3_900;
const WAIT = { ttl: TTL, wait: '1m' } as const;

const KINDS: [string, LockOptions][] = [
  ['an exclusive lock', {}],
  ['a strict caller', { fair: 'strict' }],
  ['a write lock', { kind: 'write' }],
  ['a read lock', { kind: 'read' }],
  ['a permit', { kind: 'semaphore', permits: 1 }],
];

describe('P27: a pause of less than two thirds of the ttl in the first moment of a hold', () => {
  const start = () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    return { clock, world, here: world.process(), there: world.process(), late: new LateAnswers() };
  };

  /** The event loop is blocked while the answers to the commands so far arrive. */
  const blockedBefore = async (clock: ManualClock, late: LateAnswers, ms = HALF_MS): Promise<void> => {
    await clock.pass(0);
    expect(late.size).toBeGreaterThan(0);
    clock.jump(ms);
    late.arrive();
    await clock.pass(0);
  };

  /** Blocks the event loop in the first moment of the hold, before any timer and any other answer. */
  const pauseAtBegin = (clock: ManualClock, begun: Promise<Lease>): Promise<Lease> =>
    begun.then((lease) => {
      expect(lease.remainingMs()).toBeGreaterThanOrEqual(PAUSE_MS);
      clock.jump(PAUSE_MS);
      return lease;
    });

  const survives = async (clock: ManualClock, begun: Promise<Lease>): Promise<void> => {
    await clock.pass(50);
    const lease = await begun;
    expect(lease.isHeld()).toBe(true);
    await clock.pass(TTL);
    expect(lease.isHeld()).toBe(true);
  };

  it.each(KINDS)('ends no lease whose first answer was late: %s', async (_, options) => {
    const { clock, here, late } = start();
    here.detours.acquire = late.detour;
    const begun = pauseAtBegin(clock, here.acquire('k', { ...WAIT, ...options }));
    await clock.pass(0);
    delete here.detours.acquire;
    await blockedBefore(clock, late);
    await survives(clock, begun);
  });

  it.each(KINDS)('ends no lease whose claim of an offer was answered late: %s', async (_, options) => {
    const { clock, here, there, late } = start();
    const blocking = options.kind === 'read' ? { ...WAIT, kind: 'write' as const } : { ...WAIT, ...options };
    const first = await there.acquire('k', blocking);
    const begun = pauseAtBegin(clock, here.acquire('k', { ...WAIT, ...options }));
    await clock.pass(10);
    here.detours.acquire = late.detour;
    void first.release();
    await clock.pass(5);
    delete here.detours.acquire;
    await blockedBefore(clock, late);
    await survives(clock, begun);
  });

  it('ends no lease that the release before it granted, when the answer was late', async () => {
    const { clock, here, late } = start();
    const first = await here.acquire('k', { ttl: TTL });
    const begun = pauseAtBegin(clock, here.acquire('k', { ...WAIT, fair: 'strict' }));
    await clock.pass(10);
    here.detours.release = late.detour;
    void first.release();
    await blockedBefore(clock, late);
    await survives(clock, begun);
  });

  it.each([400, 3_000])('ends no lease of a caller that does not wait, after a block of %d ms', async (blockMs) => {
    const { clock, here, late } = start();
    const ttl = blockMs * 2;
    here.detours.acquire = late.detour;
    let atBegin = 0;
    const begun = here.acquire('k', { ttl }).then((lease) => {
      atBegin = lease.remainingMs();
      return lease;
    });
    await clock.pass(0);
    delete here.detours.acquire;
    clock.jump(blockMs);
    // The timers of a turn fire before its answers arrive.
    await clock.pass(0);
    late.arrive();
    await clock.pass(0);
    clock.turn();
    await begun;
    expect(atBegin).toBeGreaterThanOrEqual(0.65 * ttl);
  });

  it('begins with what is left when every answer takes longer than a third of the ttl', async () => {
    const { clock, here } = start();
    here.detours.acquire = async (ask) => {
      const answer = await ask();
      await new Promise<void>((resolve) => void clock.after(200, resolve));
      return answer;
    };
    const begun = here.acquire('k', { ttl: 500, wait: '5s' });
    await clock.pass(1_000);
    expect((await begun).isHeld()).toBe(true);
  });

  it('ends no lease of a reader that was admitted by a late renewal', async () => {
    const { clock, here, late } = start();
    await here.acquire('k', { kind: 'read', ttl: 3_500, renew: false });
    here.detours.renew = late.detour;
    const begun = pauseAtBegin(clock, here.acquire('k', { ...WAIT, kind: 'read' }));
    await clock.pass(0);
    delete here.detours.renew;
    await blockedBefore(clock, late);
    await clock.pass(50);
    await survives(clock, begun);
  });

  describe('after a downgrade', () => {
    it('ends no lease of a reader with a longer ttl that waited for it', async () => {
      const { clock, here } = start();
      const writer = await here.acquire('k', { kind: 'write', ttl: 1_000 });
      const begun = pauseAtBegin(clock, here.acquire('k', { ...WAIT, kind: 'read' }));
      await clock.pass(10);
      void writer.downgrade();
      await clock.pass(10);
      await survives(clock, begun);
    });

    it('lets a reader with a longer ttl enter before a writer that waits in another process', async () => {
      const { clock, here, there } = start();
      const writer = await here.acquire('k', { kind: 'write', ttl: 1_000 });
      const begun = pauseAtBegin(clock, here.acquire('k', { ...WAIT, kind: 'read' }));
      await clock.pass(10);
      void there.acquire('k', { ...WAIT, kind: 'write' }).then((lease) => lease.release());
      await clock.pass(10);
      void writer.downgrade();
      await clock.pass(10);
      expect((await begun).isHeld()).toBe(true);
    });

    it('ends no lease of a reader that waited for it, when the answer was late', async () => {
      const { clock, world, late } = start();
      // Without messages, the reader does not learn of its lease before the answer.
      const here = world.process({ subscribe: () => Promise.reject(new Error('NOPERM')) });
      const writer = await here.acquire('k', { kind: 'write', ttl: TTL });
      const begun = pauseAtBegin(clock, here.acquire('k', { ...WAIT, kind: 'read' }));
      await clock.pass(10);
      here.detours.downgrade = late.detour;
      void writer.downgrade();
      await blockedBefore(clock, late);
      await clock.pass(10);
      await survives(clock, begun);
    });
  });

  describe('of several keys', () => {
    const acquireBoth = ({ engine }: ManualProcess): Promise<Lease> => {
      const options = resolveLockOptions(WAIT, LOCK_DEFAULTS);
      return engine.acquire({ key: ['a', 'b'], name: 'unit', options, scoped: false });
    };

    it('ends no lease when the answer to their command was late', async () => {
      const { clock, here, late } = start();
      here.detours.acquireAll = late.detour;
      const begun = pauseAtBegin(clock, acquireBoth(here));
      await blockedBefore(clock, late);
      await survives(clock, begun);
    });

    it('ends no lease when the answer for the last key was late', async () => {
      const { clock, here, there, late } = start();
      const blocking = await there.acquire('b', { ttl: TTL });
      const begun = pauseAtBegin(clock, acquireBoth(here));
      await clock.pass(10);
      here.detours.acquire = late.detour;
      void blocking.release();
      await clock.pass(5);
      delete here.detours.acquire;
      // The renewal of the first key leaves after the block, and has no answer yet when the last key is granted.
      here.detours.renew = async (ask) => {
        const answer = await ask();
        await new Promise<void>((resolve) => void clock.after(20, resolve));
        return answer;
      };
      await blockedBefore(clock, late);
      await clock.pass(100);
      await survives(clock, begun);
    });
  });
});

it('is the reason of the loss of a lease that ends in it, also when the store then grants the lock to another call', async () => {
  const clock = new ManualClock();
  const here = new ManualWorld(clock).process();
  const lease = await here.acquire('k', { ttl: TTL });
  const asks = new LateCommand();
  here.detours.acquire = asks.detour;
  const next = here.acquire('k', { ttl: 10 * TTL, wait: '1m', fair: 'strict' });
  await clock.pass(0);
  clock.jump(TTL + 100);
  asks.execute();
  await settled();
  expect((await next).isHeld()).toBe(true);
  expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'blocked' });
});
