import { ManualClock, settled } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import { resolveLockOptions } from '../options/lock-options.js';
import type { LockContendedError, LockWaitTimeoutError } from '../errors.js';
import { lockName, MOST_NAMES } from '../options/lock-name.js';
import { HoldTimes } from './wait-estimates.js';

describe('HoldTimes', () => {
  it.each([1, 3, 5, 15])('follows the latest holds of each of %i names that take turns', (count) => {
    const holds = new HoldTimes();
    const names = Array.from({ length: count }, (_, i) => `work ${i}`);
    for (const heldMs of [100, 5_000]) {
      for (let round = 0; round < 20; round += 1) for (const name of names) holds.record(name, heldMs);
      expect(names.map((name) => holds.remainingMs(name))).toEqual(names.map(() => heldMs));
    }
  });

  it('expects the rest of the median of those holds that lasted longer', () => {
    const holds = new HoldTimes();
    for (const heldMs of [100, 200, 300, 400, 500]) holds.record('work', heldMs);
    expect([0, 50, 250, 450, 500].map((ageMs) => holds.remainingMs('work', ageMs))).toEqual([
      300,
      250,
      150,
      50,
      undefined,
    ]);
    expect(holds.remainingMs('other work')).toBeUndefined();
  });

  it('remembers the holds of every name of a process, and of "service" and "other"', () => {
    const holds = new HoldTimes();
    const names = Array.from({ length: MOST_NAMES + 1 }, (_, i) => lockName(`work ${i}`));
    for (const name of [...names, 'service']) holds.record(name, 100);
    expect([...names, 'service'].filter((name) => holds.remainingMs(name) === undefined)).toEqual([]);
  });
});

describe('The estimate of a refused call', () => {
  it.each(['process', 'strict'] as const)(
    'is at most the rest of the lease at the end of the wait, with fair: %s',
    async (fair) => {
      const clock = new ManualClock();
      const world = new ManualWorld(clock);
      const [here, there] = [world.process(), world.process()];
      await there.acquire('k', { ttl: 2_000, renew: false });
      const refused = here.acquire('k', { wait: 1_100, fair }).catch((error: unknown) => error);
      await clock.pass(1_100);
      const error = (await refused) as LockWaitTimeoutError;
      expect(error).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
      expect(error.retryAfterMs).toBeLessThanOrEqual(900);
      expect(error.retryAfterMs).toBeGreaterThan(800);
    },
  );

  it('is at most the rest of the lease that readers of the process share', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process(), world.process()];
    await here.acquire('k', { kind: 'read', ttl: 300 });
    here.detours.renew = async (ask) => {
      void there.acquire('k', { kind: 'write', wait: 60_000 });
      await settled();
      return ask();
    };
    const error: unknown = await here.acquire('k', { kind: 'read', ttl: 600 }).catch((refusal: unknown) => refusal);
    expect(error).toMatchObject({ code: 'LOCK_CONTENDED' });
    expect((error as LockContendedError).retryAfterMs).toBeLessThanOrEqual(600);
  });

  it('ignores keys that a multi-key call had to release before its work began', async () => {
    const clock = new ManualClock();
    const { engine } = new ManualWorld(clock).process();
    const options = resolveLockOptions({});
    const acquire = (...keys: readonly string[]) =>
      engine.acquire({ key: keys, name: 'transfer', options, scoped: false });
    const lease = await acquire('a', 'b');
    await clock.pass(5_000);
    await lease.release();
    await acquire('b');
    for (let calls = 0; calls < 20; calls += 1) {
      const refused = acquire('a', 'b');
      await expect(refused).rejects.toMatchObject({ code: 'LOCK_CONTENDED', retryAfterMs: 5_000 });
    }
  });

  it('follows the name and the age of the holder in this process, not the name of the caller', async () => {
    const clock = new ManualClock();
    const { engine } = new ManualWorld(clock).process();
    const options = resolveLockOptions({});
    const acquire = (name: string) => engine.acquire({ key: 'k', name, options, scoped: false });
    for (const [name, heldMs] of [
      ['slow work', 5_000],
      ['fast work', 100],
    ] as const) {
      const lease = await acquire(name);
      await clock.pass(heldMs);
      await lease.release();
    }
    await acquire('slow work');
    await clock.pass(2_000);
    await expect(acquire('fast work')).rejects.toMatchObject({ code: 'LOCK_CONTENDED', retryAfterMs: 3_000 });
  });
});
