import type { History, Violation } from './history.js';
import { overlap, type Interval } from './interval.js';
import type { Operation } from './operation.js';
import { longestTtl, possessions, type Possession } from './possession.js';

/** The state of the lock that a process knows may be this old. */
const EARLIER_MS = 20;
/** A reading process learns with its next renewal that a waiting writer has left. */
const GATE_MS = 1_500;

/** A call with wait 0 is refused as contended only when another caller holds the lock, or may be about to get it. */
export function checkContention(history: History): Violation[] {
  const byKey = possessions(history, true);
  return history.operations
    .filter(({ outcome, waitMs, inside }) => outcome === 'LOCK_CONTENDED' && waitMs === 0 && inside === undefined)
    .filter((operation) => !operation.keys.some((key) => isTaken(operation, byKey.get(key) ?? [], history)))
    .filter(({ keys, askedAt, settledAt = askedAt }) => !isForeign(history, keys, { from: askedAt, to: settledAt }))
    .map((operation) => ({
      rule: 'contention',
      message: `${operation.id} was refused because of a holder of ${operation.keys.join(' and ')}, but no caller can have held it`,
      operations: [operation],
      at: operation.settledAt ?? operation.askedAt,
    }));
}

function isTaken(operation: Operation, possessed: readonly Possession[], history: History): boolean {
  const { askedAt, settledAt = askedAt, kind, options, process } = operation;
  const troubled = history.troubled({ from: askedAt, to: settledAt }, process);
  const others = possessed.filter((each) => {
    // Without a reply the process relies on earlier ones.
    const knownMs = kind === 'read' ? GATE_MS : EARLIER_MS;
    const earlierMs = troubled ? longestTtl(each.operation) : knownMs;
    return each.operation !== operation && overlap(each, { from: askedAt - earlierMs, to: settledAt + 1 }) > 0;
  });
  if (kind === 'read') return others.some((each) => each.operation.kind !== 'read');
  const { permits, weight = 1 } = options;
  if (permits === undefined) return others.length > 0;
  return weight + others.reduce((sum, each) => sum + each.weight, 0) > permits;
}

/** After a data loss, the store may report a lock that its holder has lost. */
function isForeign({ dataLosses }: History, keys: readonly string[], during: Interval): boolean {
  return dataLosses.some(
    (loss) => loss.at >= during.from - AFTER_LOSS_MS && loss.from <= during.to && keys.includes(loss.key ?? keys[0]),
  );
}

const AFTER_LOSS_MS = 3_000;
