import fc from 'fast-check';

import type { CallerPlan, Plan } from './plan.js';
import { planOf } from './plan-of-seed.js';

/** Draws histories by their number, and reduces a broken one to the minimum that breaks the rule. */
export class PlanArbitrary extends fc.Arbitrary<Plan> {
  override generate(random: fc.Random): fc.Value<Plan> {
    return value(planOf(random.nextInt(1, 0x7fffffff)));
  }

  override canShrinkWithoutContext(_: unknown): _ is Plan {
    return false;
  }

  override shrink(plan: Plan): fc.Stream<fc.Value<Plan>> {
    return fc.stream(smaller(plan)).map(value);
  }
}

const value = (plan: Plan): fc.Value<Plan> => new fc.Value(plan, plan.seed);

function* smaller(plan: Plan): IterableIterator<Plan> {
  for (let i = 0; i < plan.callers.length; i += 1) yield { ...plan, callers: plan.callers.toSpliced(i, 1) };
  for (let i = 0; i < plan.faults.length; i += 1) yield { ...plan, faults: plan.faults.toSpliced(i, 1) };
  for (const share of ['lossShare', 'lateShare', 'refusalShare'] as const) {
    if (plan[share] > 0) yield { ...plan, [share]: 0 };
  }
  for (const [i, caller] of plan.callers.entries()) {
    const { abortAfterMs, downgradeAfterMs, extend, rounds, ...rest } = caller;
    const simpler: CallerPlan = { ...rest, rounds: 1 };
    if ([abortAfterMs, downgradeAfterMs, extend].some((part) => part !== undefined) || rounds > 1) {
      yield { ...plan, callers: plan.callers.with(i, simpler) };
    }
  }
}
