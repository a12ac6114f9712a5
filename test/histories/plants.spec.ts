import { rm } from 'node:fs/promises';

import { checkHistory } from './check/check-history.js';
import { describeViolation } from './check/describe.js';
import type { FaultPlan } from './plan/fault-plan.js';
import type { Theme } from './plan/themes.js';
import type { KeyPlan, WorldPlan } from './plan/world-plan.js';
import { runHistory } from './run/history-run.js';
import type { PlantName } from './run/plants.js';

interface Planted {
  readonly plant: PlantName;
  /** The rules that must report it. */
  readonly rules: readonly string[];
  readonly world?: Partial<WorldPlan>;
  /** Its settings apply instead of those of this file. */
  readonly theme?: Theme;
}

const key = (kind: KeyPlan['kind']): KeyPlan => ({ name: kind, kind, permits: 3, readShare: 0.7, ttlMs: 400 });
const alone: Partial<WorldPlan> = { processes: 1, callers: 1, gapMs: 80 };
/** So many keys that hardly any is requested twice. */
const many = Array.from({ length: 200 }, (_, i) => ({ ...key('exclusive'), name: `exclusive-${i}` }));
const stop: FaultPlan = { name: 'stop', afterMs: 300, forMs: 1_300, process: 0, draw: 0 };
const outage: FaultPlan = { name: 'refuse', afterMs: 300, forMs: 3_400, process: 0, draw: 0 };

const BLOCKED: Partial<WorldPlan> = {
  operations: 60,
  blockFirstShare: 0.1,
  keys: [{ ...key('exclusive'), ttlMs: 41_000 }],
  calls: ['acquire'],
  waits: [4_000],
};

const failover: FaultPlan = { name: 'planned-failover', afterMs: 700, forMs: 0, process: 0, draw: 0 };
const FAILING_OVER: Partial<WorldPlan> = {
  // No renewal reports the loss soon.
  keys: [{ ...key('exclusive'), ttlMs: 20_000 }],
  waits: [2_500],
  // A hold outlasts the failover also on a busy machine, and ends before its first renewal.
  holdMs: [4_000],
  gapMs: 10,
  operations: 40,
  faults: [[failover, failover, failover]],
};

const TICKETS: Partial<WorldPlan> = { processes: 2, keys: [key('exclusive')], severalShare: 0 };

const PLANTED: readonly Planted[] = [
  { plant: 'second holder', rules: ['exclusion'] },
  { plant: 'second holder', rules: ['exclusion'], world: { keys: [key('read-write')] } },
  { plant: 'too many permits', rules: ['exclusion'], world: { keys: [key('semaphore')] } },
  { plant: 'ignored loss', rules: ['exclusion'], world: { holdMs: [400], faults: [[stop, stop, stop, stop]] } },
  { plant: 'falling token', rules: ['fencing', 'register'] },
  { plant: 'falling token', rules: ['fencing'], world: { keys: [key('semaphore')] } },
  {
    plant: 'token of an old block',
    rules: ['fencing'],
    world: {
      ...alone,
      callers: 5,
      gapMs: 10,
      keys: [{ ...key('semaphore'), permits: 2 }],
      waits: [2_500],
      holdMs: [30],
    },
  },
  { plant: 'stale read', rules: ['register'] },
  { plant: 'hanging call', rules: ['wait bounds'] },
  { plant: 'late answer', rules: ['wait bounds'] },
  { plant: 'untyped error', rules: ['outcomes'] },
  { plant: 'contention without a holder', rules: ['contention'], world: { ...alone, waits: [0], keys: many } },
  {
    plant: 'contention in an outage',
    rules: ['contention'],
    world: { waits: [0, 300], gapMs: 80, faults: [[outage, outage, outage]] },
  },
  { plant: 'free lock refused', rules: ['free locks'], world: { ...alone, waits: [1_500] } },
  {
    plant: 'overtaken caller',
    rules: ['order'],
    world: { callers: 2, keys: [key('semaphore')], waits: [2_500], holdMs: [40] },
  },
  { plant: 'endless lease', rules: ['leases'] },
  { plant: 'lease lost for nothing', rules: ['leases'], world: { holdMs: [50] } },
  { plant: 'key granted too early', rules: ['kept keys'], world: { keptShare: 0.5 } },
  { plant: 'key left behind', rules: ['clean-up'] },
  { plant: 'key without an end', rules: ['clean-up'] },
  { plant: 'stray rejection', rules: ['stray errors'] },
  { plant: 'hold before its claim', rules: ['exclusion'], theme: 'blocked', world: BLOCKED },
  { plant: 'lease lost for nothing', rules: ['leases'], theme: 'blocked', world: BLOCKED },
  { plant: 'locks lost in a failover', rules: ['exclusion'], theme: 'failover', world: FAILING_OVER },
  {
    plant: 'refused after an error',
    rules: ['outcomes'],
    theme: 'errors',
    world: { calls: ['acquire'], waits: [800], gapMs: 40 },
  },
  { plant: 'too many permits', rules: ['exclusion'], theme: 'permits', world: { keys: [key('semaphore')] } },
  { plant: 'ticket used again', rules: ['tickets', 'exclusion'], theme: 'tickets', world: TICKETS },
  { plant: 'second holder', rules: ['exclusion'], theme: 'tickets', world: TICKETS },
  { plant: 'uncounted nested call', rules: ['exclusion'], theme: 'nested' },
  { plant: 'detached work inside the lock', rules: ['outcomes'], theme: 'nested' },
];

/** On a slow machine many bounds do not apply, so the test tries again. */
const TRIES = 4;

describe('A violation that is planted in a real history', () => {
  it.concurrent.each(PLANTED)(
    'is reported: $plant, by $rules',
    async ({ plant, rules, world, theme }) => {
      const missing = new Set(rules);
      for (let seed = 1; seed <= TRIES && missing.size > 0; seed += 1) {
        for (const rule of await rulesThatNotice(plant, seed, world, theme)) missing.delete(rule);
      }

      expect([...missing]).toEqual([]);
    },
    300_000,
  );

  it.concurrent(
    'is not reported without a plant',
    async () => {
      const { events, folder } = await runHistory({ seed: 1, operations: 120, mood: 'calm' });

      expect(checkHistory(events).map((violation) => describeViolation(violation, events))).toEqual([]);
      await rm(folder, { recursive: true });
    },
    300_000,
  );
});

async function rulesThatNotice(
  plant: PlantName,
  seed: number,
  world: Partial<WorldPlan> = {},
  theme?: Theme,
): Promise<Set<string>> {
  const plain: Partial<WorldPlan> = {
    processes: 2,
    callers: 4,
    keys: [key('exclusive')],
    calls: ['acquire'],
    waits: [0, 300, 2_500],
    severalShare: 0,
    blockShare: 0,
    holdMs: [10],
    gapMs: 10,
  };
  const fixed: Partial<WorldPlan> = { ...(theme === undefined ? plain : {}), faults: [], ...world };
  const { events, folder } = await runHistory({ seed, operations: fixed.operations ?? 120, theme, fixed }, plant);
  const violations = checkHistory(events);
  for (const violation of violations) expect(describeViolation(violation, events)).toContain(violation.message);
  await rm(folder, { recursive: true });
  return new Set(violations.map(({ rule }) => rule));
}
