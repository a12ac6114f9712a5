import { LOCK_DEFAULTS } from '../../libs/distribute-lock/src/options/lock-options.js';
import { runHistory } from './history.js';
import type { CallerPlan, FaultPlan, Plan } from './plan.js';
import { plantedLocks, SILENT_PLACES } from './plants.js';
import { Random } from './random.js';
import type { LocksByRules } from './simulated-locks.js';

const HISTORIES = 2_000;
const MOST_HISTORIES = 300;
/** Leases of crashed holders, a heartbeat and two claim windows end within this time. */
const TTL_MS = 1_000;
const SERVED_WITHIN_MS = TTL_MS + 1_500 + 2 * 1_750 + 500;

/**
 * Many strict callers of one process, a few of another one behind them, and a fault that removes the places of the
 * first.
 */
function planOf(seed: number): Plan {
  const random = new Random(seed);
  const callersOf = (process: number, count: number, at: number): CallerPlan[] =>
    Array.from({ length: count }, () => ({
      at: random.between(at, at + 5),
      process,
      key: 'a',
      options: { ...LOCK_DEFAULTS, ttlMs: TTL_MS, waitMs: SERVED_WITHIN_MS, fair: 'strict' },
      holdMs: random.between(0, 2),
      // around the first heartbeat
      ...(random.chance(0.1) ? { abortAfterMs: random.between(1_200, 1_450) } : {}),
      rounds: 1,
      gapMs: 0,
      scoped: false,
    }));
  const holdMs = random.pick([100, 100, 3_000]);
  const { abortAfterMs: _, ...holder } = { ...callersOf(2, 1, 0)[0], at: 0, holdMs };
  const kind = random.pick(['flush', 'crash', 'stop'] as const);
  const fault: FaultPlan = { kind, at: random.between(20, 90), process: 0, key: 'a', ms: random.between(3_000, 4_000) };
  return {
    seed,
    weather: 'strict',
    processes: Array.from({ length: 3 }, () => ({ rate: random.between(0.991, 1.009), offset: 0, deaf: false })),
    callers: [holder, ...callersOf(0, random.int(6, 12), 5), ...callersOf(1, random.int(1, 3), 12)],
    faults: [fault],
    latencyMs: random.pick([0.2, 1, 3]),
    lagMs: random.pick([0, 0.2, 0.9]),
    lossShare: 0,
    lateShare: 0,
    refusalShare: 0,
    counted: random.chance(0.3),
  };
}

/** The first violation: a broken rule, or a caller of a healthy process that was not served in time. */
async function trouble(count: number, Locks?: LocksByRules): Promise<string | undefined> {
  for (let seed = 1; seed <= count; seed += 1) {
    const plan = planOf(seed);
    const world = await runHistory(plan, { Locks });
    const isHealthy = ({ process, abortAfterMs }: CallerPlan): boolean =>
      abortAfterMs === undefined && (process !== 0 || plan.faults[0].kind === 'flush');
    const healthy = plan.callers.filter(isHealthy).length;
    if (world.violation !== undefined) return `${seed}: ${world.violation}`;
    if (world.ledger.count < healthy) return `${seed}: ${world.ledger.count} of ${healthy} callers were served in time`;
    if (seed % 100 === 0) await new Promise(setImmediate);
  }
  return undefined;
}

describe('Strict callers of a process', () => {
  it(`are served in time, and do not delay other processes for long, in ${HISTORIES} histories`, async () => {
    expect(await trouble(HISTORIES)).toBeUndefined();
  }, 120_000);

  it('are not served in time when an unresponsive process keeps its places', async () => {
    expect(await trouble(MOST_HISTORIES, await plantedLocks(SILENT_PLACES))).toBeDefined();
  }, 60_000);
});
