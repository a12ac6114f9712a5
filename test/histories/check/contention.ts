import type { History, Violation } from './history.js';
import { overlap, type Interval } from './interval.js';
import type { Operation } from './operation.js';
import { longestTtl, possessions, type Possession } from './possession.js';

/** What the process knew of the lock a moment ago. */
const EARLIER_MS = 20;
/** A process that reads was told of a waiting writer, and learns that it has left by its next renewal. */
const GATE_MS = 1_500;

/** A call that does not wait is told of contention only where somebody else has the lock, or may be about to get it. */
export function checkContention(history: History): Violation[] {
  const byKey = possessions(history, true);
  return history.operations
    .filter(({ outcome, waitMs, inside }) => outcome === 'LOCK_CONTENDED' && waitMs === 0 && inside === undefined)
    .filter((operation) => !operation.keys.some((key) => isTaken(operation, byKey.get(key) ?? [], history)))
    .filter(({ keys, askedAt, settledAt = askedAt }) => !isForeign(history, keys, { from: askedAt, to: settledAt }))
    .map((operation) => ({
      rule: 'contention',
      message: `${operation.id} was told that ${operation.keys.join(' and ')} is held, but nobody can have held it`,
      operations: [operation],
      at: operation.settledAt ?? operation.askedAt,
    }));
}

function isTaken(operation: Operation, possessed: readonly Possession[], history: History): boolean {
  const { askedAt, settledAt = askedAt, kind, options, process } = operation;
  const troubled = history.troubled({ from: askedAt, to: settledAt }, process);
  const others = possessed.filter((each) => {
    // Without an answer the process knows what it was told before.
    const knownMs = kind === 'read' ? GATE_MS : EARLIER_MS;
    const earlierMs = troubled ? longestTtl(each.operation) : knownMs;
    return each.operation !== operation && overlap(each, { from: askedAt - earlierMs, to: settledAt + 1 }) > 0;
  });
  if (kind === 'read') return others.some((each) => each.operation.kind !== 'read');
  const { permits, weight = 1 } = options;
  if (permits === undefined) return others.length > 0;
  return weight + others.reduce((sum, each) => sum + each.weight, 0) > permits;
}

/** While data is lost, a lock may be one that its holder does not have any more. */
function isForeign({ dataLosses }: History, keys: readonly string[], during: Interval): boolean {
  return dataLosses.some(
    (loss) => loss.at >= during.from - AFTER_LOSS_MS && loss.from <= during.to && keys.includes(loss.key ?? keys[0]),
  );
}

const AFTER_LOSS_MS = 3_000;
