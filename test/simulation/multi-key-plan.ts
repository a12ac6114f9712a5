import type { CallerPlan, Plan } from './plan.js';
import { Random } from './random.js';

/** The keys of these histories. */
export const MULTI_KEY: readonly string[] = ['a', 'b', 'c'];

/** The share of histories with multi-key callers among those without semaphores. */
const SHARE = 0.3;
/** The share of these callers that leave their keys to their ttl. */
const EXPIRE_SHARE = 0.15;

/** Possibly adds callers of two or three keys in any order, beside callers of one of them. */
export function perhapsWithMultiKey(plan: Plan): Plan {
  const random = new Random(plan.seed ^ 0x3d9f17a5);
  if (plan.callers[0]?.options.kind === 'semaphore' || !random.chance(SHARE)) return plan;
  const all = MULTI_KEY.slice(0, random.int(2, 3));
  const share = random.pick([0.3, 0.6, 1]);
  const callers = plan.callers.map((caller): CallerPlan => {
    const key = random.pick(all);
    if (!random.chance(share)) return { ...caller, key };
    const { extend: _, ...rest } = caller;
    const options = random.chance(EXPIRE_SHARE) ? { ...caller.options, release: 'expire' as const } : caller.options;
    return { ...rest, key, options, keys: shuffled(all, random).slice(0, random.int(2, all.length)) };
  });
  return { ...plan, callers };
}

function shuffled(keys: readonly string[], random: Random): readonly string[] {
  return keys
    .map((key) => ({ key, at: random.next() }))
    .sort((one, other) => one.at - other.at)
    .map(({ key }) => key);
}
