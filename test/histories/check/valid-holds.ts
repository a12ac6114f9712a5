import { groupBy } from './group-by.js';
import type { DataLoss, History } from './history.js';
import type { Interval } from './interval.js';
import type { Operation } from './operation.js';

/** One key that one operation validly held. */
export interface ValidHold extends Interval {
  readonly operation: Operation;
  readonly key: string;
  readonly token: number;
  /** When its downgrade made it a read lock. */
  readonly readsFrom: number;
}

/**
 * All valid intervals of a key, in the order of their grants. A lease is invalid from the moment Redis has lost its
 * grant.
 */
export function validHolds(history: History): ReadonlyMap<string, readonly ValidHold[]> {
  const holds = history.operations.flatMap((operation) => holdsOf(operation, history.dataLosses));
  return groupBy(
    holds.toSorted((a, b) => a.from - b.from),
    ({ key }) => key,
  );
}

/** Work inside the lease of an outer call has no lease. */
function holdsOf(operation: Operation, losses: readonly DataLoss[]): ValidHold[] {
  const { hold, inside } = operation;
  if (hold === undefined || inside !== undefined) return [];
  const { from, readsFrom } = hold;
  return operation.keys.flatMap((key) => {
    const lost = losses.filter((loss) => (loss.key ?? key) === key && hold.sentAt[key] < loss.at);
    const to = Math.min(hold.to, ...lost.map((loss) => loss.from));
    return to > from ? [{ operation, key, token: hold.tokens[key], from, to, readsFrom }] : [];
  });
}
