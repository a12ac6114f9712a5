import type { CallerPlan, Plan } from './plan.js';
import { Random } from './random.js';

/** So many of the histories that are not about semaphores are about readers and writers. */
const SHARE = 0.45;

/** The same history, perhaps about readers and writers: some of these become readers while they hold. */
export function perhapsWithReaders(plan: Plan): Plan {
  const random = new Random(plan.seed ^ 0x51ed270b);
  if (plan.callers[0]?.options.kind !== 'exclusive' || !random.chance(SHARE)) return plan;
  const readers = random.pick([0.3, 0.6, 0.9]);
  const downgrades = random.pick([0, 0.5]);
  return {
    ...plan,
    callers: plan.callers.map((caller): CallerPlan => {
      const { options, holdMs } = caller;
      if (random.chance(readers)) {
        return { ...caller, options: { ...options, kind: 'read', fair: 'process', minHoldMs: 0 } };
      }
      const kind = random.pick(['write', 'exclusive'] as const);
      const downgrade = random.chance(downgrades) ? { downgradeAfterMs: random.between(0, holdMs) } : {};
      return { ...caller, ...downgrade, options: { ...options, kind } };
    }),
  };
}
