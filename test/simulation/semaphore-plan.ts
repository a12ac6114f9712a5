import { PATIENT_MS, type CallerPlan, type Plan } from './plan.js';
import { Random } from './random.js';

/** So many histories are about a semaphore. */
const SHARE = 0.3;
/** In so many of them one stays that long: longer than a dead waiter may keep those behind it from what is left. */
const LONG_SHARE = 0.15;
const LONG_MS = 6_000;

/** The same history, perhaps about semaphores: one limit for each key, light and heavy callers. */
export function perhapsWithPermits(plan: Plan): Plan {
  const random = new Random(plan.seed ^ 0x2c1b3c6d);
  if (!random.chance(SHARE)) return plan;
  const limits: Readonly<Record<string, number>> = { a: random.pick([1, 2, 2, 3, 5]), b: random.pick([1, 2, 3]) };
  const light = random.chance(0.3);
  const callers = plan.callers.map((caller): CallerPlan => {
    const permits = limits[caller.key];
    const weight = light || random.chance(0.5) ? 1 : random.int(1, permits);
    return { ...caller, options: { ...caller.options, kind: 'semaphore', permits, weight, fair: 'process' } };
  });
  return random.chance(LONG_SHARE) ? behindAHeavyOne({ ...plan, callers }, random) : { ...plan, callers };
}

/** The first comes early and stays long, the second wants all permits and dies or gives up, the others would fit beside the first. */
function behindAHeavyOne(plan: Plan, random: Random): Plan {
  const callers = plan.callers.map((caller, i): CallerPlan => {
    const weight = i === 1 ? caller.options.permits : 1;
    const options = { ...caller.options, weight, waitMs: PATIENT_MS, maxHoldMs: Infinity, renew: true };
    const { abortAfterMs: _, ...rest } = caller;
    return i === 0 ? { ...rest, at: 0, holdMs: LONG_MS, options } : { ...caller, options };
  });
  const [{ process: holding }, { process, key, at }] = callers;
  if (process === holding || random.chance(0.3)) {
    return { ...plan, callers: callers.with(1, { ...callers[1], abortAfterMs: 100 }) };
  }
  return { ...plan, callers, faults: [...plan.faults, { kind: 'crash', at: at + 300, process, key, ms: 0 }] };
}
