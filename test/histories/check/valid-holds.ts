import { groupBy } from './group-by.js';
import type { DataLoss, History } from './history.js';
import type { Interval } from './interval.js';
import { find, type Operation } from './operation.js';

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

/**
 * Like `validHolds`, with those of nested calls, which may last longer than the call around them, and those of locks that the
 * server has again after a loss.
 */
export const allHolds = (history: History): ReadonlyMap<string, readonly ValidHold[]> =>
  holdsOf(history.operations, history, regained);

function holdsOf(
  operations: readonly Operation[],
  history: History,
  more: (operation: Operation) => readonly ValidHold[] = () => [],
): Map<string, ValidHold[]> {
  const holds = operations.flatMap((operation) =>
    operation.hold === undefined ? [] : [...holdsOfOne(operation, history), ...more(operation)],
  );
  return groupBy(
    holds.toSorted((a, b) => a.from - b.from),
    ({ key }) => key,
  );
}

function holdsOfOne(operation: Operation, history: History): ValidHold[] {
  const { from, to } = operation.hold!;
  return operation.keys.flatMap((key) =>
    during(operation, key, from, Math.min(to, lostAt(operation, key, history)?.from ?? Infinity)),
  );
}

function regained(operation: Operation): ValidHold[] {
  const seen = operation.events.filter((event) => event.type === 'on-server');
  return seen.flatMap(({ has, at }, i) =>
    has ? during(operation, operation.keys[0], at, Math.min(operation.hold!.to, seen[i + 1]?.at ?? Infinity)) : [],
  );
}

function during(operation: Operation, key: string, from: number, to: number): ValidHold[] {
  const { tokens, readsFrom } = operation.hold!;
  return to > from ? [{ operation, key, token: tokens[key], from, to, readsFrom }] : [];
}

/**
 * The first loss of the grant of this key.
 * @param counts - whether such a loss concerns the caller of this function
 */
export function lostAt(
  { hold, events }: Operation,
  key: string,
  { dataLosses, exact }: History,
  counts: (loss: DataLoss) => boolean = () => true,
): Pick<DataLoss, 'from' | 'at'> | undefined {
  if (!exact)
    return dataLosses.find((loss) => (loss.key ?? key) === key && hold!.sentAt[key] < loss.at && counts(loss));
  const seen = find(events, 'on-server');
  return seen && { from: seen.at, at: seen.at };
}
