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
 * The valid intervals of a key, in the order of their grants. A lease is invalid from the moment Redis has lost its
 * grant. A nested call holds the lease of the call around it.
 */
export function validHolds(history: History): ReadonlyMap<string, readonly ValidHold[]> {
  return holdsOf(
    history.operations.filter(({ inside }) => inside === undefined),
    history,
  );
}

/** Like `validHolds`, with those of nested calls, which may last longer than the call around them. */
export const allHolds = (history: History): ReadonlyMap<string, readonly ValidHold[]> =>
  holdsOf(history.operations, history);

function holdsOf(operations: readonly Operation[], { dataLosses }: History): Map<string, ValidHold[]> {
  const holds = operations.flatMap((operation) => holdsOfOne(operation, dataLosses));
  return groupBy(
    holds.toSorted((a, b) => a.from - b.from),
    ({ key }) => key,
  );
}

function holdsOfOne(operation: Operation, losses: readonly DataLoss[]): ValidHold[] {
  const { hold } = operation;
  if (hold === undefined) return [];
  const { from, readsFrom } = hold;
  return operation.keys.flatMap((key) => {
    const lost = losses.filter((loss) => (loss.key ?? key) === key && hold.sentAt[key] < loss.at);
    const to = Math.min(hold.to, ...lost.map((loss) => loss.from));
    return to > from ? [{ operation, key, token: hold.tokens[key], from, to, readsFrom }] : [];
  });
}
