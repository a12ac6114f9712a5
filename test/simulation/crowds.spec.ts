import { LOCK_DEFAULTS } from '../../libs/distribute-lock/src/options/lock-options.js';
import { runHistory } from './history.js';
import { type CallerPlan, PATIENT_MS, type Plan } from './plan.js';
import { Random } from './random.js';

const HISTORIES = 2_000;

const callerOf = (
  permits: number,
  { at, process, holdMs, rounds }: Pick<CallerPlan, 'at' | 'process' | 'holdMs' | 'rounds'>,
): CallerPlan => ({
  at,
  process,
  key: 'a',
  options: { ...LOCK_DEFAULTS, kind: 'semaphore', permits, ttlMs: 1_000, waitMs: PATIENT_MS },
  holdMs,
  rounds,
  gapMs: 0,
  scoped: false,
});

const CALM = { weather: 'crowd', faults: [], lossShare: 0, lateShare: 0, refusalShare: 0, counted: true } as const;

/** Many callers of one process, and some of others, arrive within milliseconds. */
function planOf(seed: number): Plan {
  const random = new Random(seed);
  const permits = random.int(1, 3);
  const callersOf = (process: number, count: number): CallerPlan[] =>
    Array.from({ length: count }, () => {
      const at = random.between(0, 3);
      return callerOf(permits, { at, process, holdMs: random.pick([0, 0.2, 1]), rounds: random.int(1, 2) });
    });
  return {
    ...CALM,
    seed,
    processes: Array.from({ length: 3 }, () => ({ rate: random.between(0.991, 1.009), offset: 0, deaf: false })),
    callers: [...callersOf(0, random.int(3, 16)), ...callersOf(1, random.int(1, 3)), ...callersOf(2, random.int(0, 1))],
    latencyMs: random.pick([0.2, 1]),
    lagMs: random.pick([0, 0.2]),
  };
}

describe('Many callers of one semaphore', () => {
  it('leave no permit free while one of them waits', async () => {
    for (let seed = 1; seed <= HISTORIES; seed += 1) {
      const { violation } = await runHistory(planOf(seed));
      expect([seed, violation]).toEqual([seed, undefined]);
    }
  }, 120_000);

  it('poll with the place that the store serves first, although an older caller has a later place', async () => {
    const { violation } = await runHistory({
      ...CALM,
      seed: 1_384_918_529,
      processes: [
        { rate: 1.0001, offset: 464_049, deaf: false },
        { rate: 1.0056, offset: 415_452, deaf: false },
        { rate: 1.0083, offset: 737_885, deaf: true },
      ],
      callers: [
        callerOf(1, { at: 0.4297, process: 2, holdMs: 0.2, rounds: 1 }),
        callerOf(1, { at: 2.7104, process: 2, holdMs: 0, rounds: 1 }),
        callerOf(1, { at: 0.1162, process: 0, holdMs: 0, rounds: 2 }),
        callerOf(1, { at: 1.5031, process: 2, holdMs: 0, rounds: 1 }),
        callerOf(1, { at: 1.1393, process: 2, holdMs: 0.2, rounds: 2 }),
      ],
      latencyMs: 0.2,
      lagMs: 0.2,
      // An offer without a receiver is as long as others.
      counted: false,
    });
    expect(violation).toBeUndefined();
  });
});
