import fc from 'fast-check';

import { runHistory } from './history.js';
import { PlanArbitrary } from './plan-arbitrary.js';
import type { Plan } from './plan.js';
import type { LocksByRules } from './simulated-locks.js';

/** Number of histories per turn of the real event loop. In that turn an unhandled rejection fails the test. */
const HISTORIES_A_TURN = 100;

/** The result of a run. */
export interface Outcome {
  /** Number of histories that ran to their end or to a broken rule. */
  readonly histories: number;
  readonly seconds: number;
  readonly holds: number;
  /** The broken rule, the seed, and the history reduced to the minimum that breaks the rule. */
  readonly broken?: { readonly rule: string; readonly seed: number; readonly reduced: Plan };
}

export interface HistoriesSettings {
  readonly count: number;
  /** Selects the histories: the same number selects the same ones. */
  readonly draw: number;
  /** Locks with a planted change of the rules. */
  readonly Locks?: LocksByRules;
  /** Whether to reduce a history that breaks a rule. */
  readonly reduce?: boolean;
}

/** Runs histories until one breaks a rule. */
export async function runHistories({ count, draw, Locks, reduce = true }: HistoriesSettings): Promise<Outcome> {
  const startedAt = performance.now();
  let histories = 0;
  let holds = 0;
  const outcome = await withoutStacks(() =>
    fc.check(
      fc.asyncProperty(new PlanArbitrary(), async (plan) => {
        const world = await runHistory(plan, { Locks });
        histories += 1;
        holds += world.ledger.count;
        if (histories % HISTORIES_A_TURN === 0) await new Promise(setImmediate);
        if (world.violation !== undefined) throw new Error(world.violation);
      }),
      { numRuns: count, seed: draw, endOnFailure: !reduce },
    ),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  if (!outcome.failed || outcome.counterexample === null) return { histories, seconds, holds };
  const [reduced] = outcome.counterexample;
  const rule = outcome.errorInstance instanceof Error ? outcome.errorInstance.message : String(outcome.errorInstance);
  return { histories: outcome.numRuns, seconds, holds, broken: { rule, seed: reduced.seed, reduced } };
}

/** The trace of a history, line by line. */
export async function traceOf(plan: Plan, Locks?: LocksByRules): Promise<string[]> {
  const { trace = [] } = await runHistory(plan, { traced: true, Locks });
  return trace;
}

/** Prints one caller and one fault per line. */
export function printed({ callers, faults, ...rest }: Plan): string {
  const lines = [...callers, ...faults].map((item) => JSON.stringify(item));
  return [JSON.stringify(rest), ...lines].join('\n');
}

/** A report with all facts about a broken rule. */
export async function reportOf(
  { rule, seed, reduced }: NonNullable<Outcome['broken']>,
  Locks?: LocksByRules,
): Promise<string> {
  return [
    `Broken: ${rule}`,
    `SIM_SEED=${seed} repeats the whole history. The minimum that breaks the rule:`,
    printed(reduced),
    ...(await traceOf(reduced, Locks)),
  ].join('\n');
}

/** Every history contains refusals, and a stack is the most expensive part of an error. */
async function withoutStacks<T>(work: () => Promise<T>): Promise<T> {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return await work();
  } finally {
    Error.stackTraceLimit = limit;
  }
}
