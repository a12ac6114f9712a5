import { PATIENT_MS, type CallerPlan, type Plan } from './plan.js';
import { Random } from './random.js';

/** The share of histories about readers and writers among those without semaphores. */
const SHARE = 0.45;
/** The share of these in which a writer and more readers arrive at a reading process at the same moment. */
const GATE_SHARE = 0.1;
const GATE_AT_MS = 60;

/** Possibly turns the history into one about readers and writers; some writers downgrade. */
export function perhapsWithReaders(plan: Plan): Plan {
  const random = new Random(plan.seed ^ 0x51ed270b);
  if (plan.callers[0]?.options.kind !== 'exclusive' || !random.chance(SHARE)) return plan;
  if (plan.processes.length > 1 && random.chance(GATE_SHARE)) return atTheGate(plan, random);
  const readers = random.pick([0.3, 0.6, 0.9]);
  const downgradeShare = random.pick([0, 0.5]);
  return {
    ...plan,
    callers: plan.callers.map((caller): CallerPlan => {
      const { options, holdMs } = caller;
      if (random.chance(readers)) return reader(caller);
      const kind = random.pick(['write', 'exclusive'] as const);
      const downgrades = caller.keys === undefined && random.chance(downgradeShare);
      const downgrade = downgrades ? { downgradeAfterMs: random.between(0, holdMs) } : {};
      return { ...caller, ...downgrade, options: { ...options, kind } };
    }),
  };
}

/** Makes the lease so short that its renewal coincides with the notice of the writer. */
function atTheGate(plan: Plan, random: Random): Plan {
  const callers = plan.callers.map((given, i): CallerPlan => {
    const { keys: _, ...caller } = given;
    const common = { key: 'a', rounds: 1, at: GATE_AT_MS + random.between(0, 3 * plan.latencyMs) };
    const options = { ...caller.options, waitMs: PATIENT_MS, minHoldMs: 0, ttlMs: 5_000 };
    if (i === 1) return { ...caller, ...common, process: 1, options: { ...options, kind: 'write' } };
    const reading = reader({ ...caller, ...common, process: 0, options });
    const first = { at: 0, holdMs: 500, options: { ...reading.options, ttlMs: 200, renew: true } };
    return i === 0 ? { ...reading, ...first } : reading;
  });
  return { ...plan, callers };
}

const reader = (caller: CallerPlan): CallerPlan => ({
  ...caller,
  options: { ...caller.options, kind: 'read', fair: 'process', minHoldMs: 0 },
});
