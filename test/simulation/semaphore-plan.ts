import { PATIENT_MS, type CallerPlan, type Plan } from './plan.js';
import { Random } from './random.js';

/** The share of histories about a semaphore. */
const SHARE = 0.3;
/** The share of these with one long hold: longer than a dead waiter may block the waiters behind it. */
const LONG_SHARE = 0.15;
const LONG_MS = 6_000;

/** The share of these in which some processes know another number of permits, as in a rolling deploy. */
const MIXED_SHARE = 0.3;

/** Possibly turns the history into one about semaphores, with light and heavy callers. */
export function perhapsWithPermits(plan: Plan): Plan {
  const random = new Random(plan.seed ^ 0x2c1b3c6d);
  if (!random.chance(SHARE)) return plan;
  const limits: Readonly<Record<string, number>> = { a: random.pick([1, 2, 2, 3, 5]), b: random.pick([1, 2, 3]) };
  const light = random.chance(0.3);
  const added = random.chance(MIXED_SHARE) ? random.int(1, 3) : 0;
  const callers = plan.callers.map((caller): CallerPlan => {
    const permits = limits[caller.key] + (caller.process % 2 === 1 ? added : 0);
    const weight = light || random.chance(0.5) ? 1 : random.int(1, permits);
    return { ...caller, options: { ...caller.options, kind: 'semaphore', permits, weight, fair: 'process' } };
  });
  return random.chance(LONG_SHARE) ? behindAHeavyOne({ ...plan, callers }, random) : { ...plan, callers };
}

/**
 * The first caller holds for long. The second one asks for all permits and crashes or gives up. The others would fit
 * beside the first.
 */
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
