import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import { type LockOptions, resolveLockOptions } from '../options/lock-options.js';

describe('A lease that is held for longer than "warnAfter"', () => {
  const start = () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const here = world.process({}, 100, { warnAfterMs: 60_000 });
    const acquireAll = (keys: readonly string[], given: LockOptions) => {
      const options = resolveLockOptions(given);
      return here.engine.acquire({ key: keys, name: 'transfer', options, scoped: false });
    };
    const reported = () => here.events.filter(({ type }) => type === 'held-long');
    return { clock, here, there: world.process(), acquireAll, reported };
  };

  it.each(['10s', '30m'] as const)('is reported once for all its keys, at that age, with a ttl of %s', async (ttl) => {
    const { clock, here, there, acquireAll, reported } = start();
    const lease = await acquireAll(['a', 'b', 'c'], { ttl });
    for (const [by, key] of [
      [here, 'a'],
      [here, 'c'],
      [there, 'b'],
    ] as const) {
      void by.acquire(key, { wait: 600_000 }).catch(() => undefined);
    }
    await clock.pass(59_000);
    expect(reported()).toEqual([]);
    await clock.pass(2_000);
    expect(reported()).toEqual([{ type: 'held-long', name: 'transfer', heldMs: 60_000, waiting: 3 }]);
    await clock.pass(600_000);
    expect(reported()).toHaveLength(1);
    await lease.release();
  });

  it.each([
    ['write', 'read', 4],
    // For readers, the store only reports whether a writer waits.
    ['read', 'write', 3],
    ['write', 'write', 4],
    ['semaphore', 'semaphore', 4],
  ] as const)(
    'counts every caller of the process: one holds for %s, three wait for %s',
    async (held, waited, count) => {
      const { clock, here, there, reported } = start();
      const optionsOf = (kind: typeof held) => (kind === 'semaphore' ? { kind, permits: 1 } : { kind });
      await here.acquire('k', optionsOf(held));
      for (const by of [here, here, here, there]) {
        void by.acquire('k', { ...optionsOf(waited), wait: 600_000 }).catch(() => undefined);
      }
      await clock.pass(61_000);
      expect(reported().map(({ waiting }) => waiting)).toEqual([count]);
    },
  );

  it('does not count another process that has stopped waiting', async () => {
    const { clock, here, there, reported } = start();
    await here.acquire('k');
    const refused = there.acquire('k', { wait: 20_000 });
    await Promise.all([expect(refused).rejects.toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' }), clock.pass(61_000)]);
    expect(reported().map(({ waiting }) => waiting)).toEqual([0]);
  });

  it('counts no other process after a hand-over to the last waiter', async () => {
    const { clock, here, there, reported } = start();
    const before = await there.acquire('k');
    const waiting = here.acquire('k', { wait: 20_000 });
    await clock.pass(10);
    await before.release();
    await clock.pass(61_000);
    expect((await waiting).isHeld()).toBe(true);
    expect(reported().map((event) => event.waiting)).toEqual([0]);
  });
});
