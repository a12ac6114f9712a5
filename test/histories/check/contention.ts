import type { History, Violation } from './history.js';
import { overlap, type Interval } from './interval.js';
import { weightOf, type Operation } from './operation.js';
import { GATE_MS, holdEnd, longestTtl, possessions, type Possession } from './possession.js';

/** The state of the lock that a process knows may be this old. */
const EARLIER_MS = 20;
/** A waiting process asks again within a heartbeat after an answer, and does not know of a holder without the next answer. */
const KNOWN_MS = 1_800;
/** A holder that has just lost its lease counts. */
const JUST_MS = 100;

/**
 * A call with wait 0 is refused as contended only when another caller holds the lock, or may be about to get it. Behind an
 * outage, a process knows only the leases that it holds, also when the wait of a caller has passed.
 */
export function checkContention(history: History): Violation[] {
  const byKey = possessions(history, true);
  const calls = history.operations.filter(({ inside }) => inside === undefined);
  const refused = calls.filter(({ outcome, waitMs }) => outcome === 'LOCK_CONTENDED' && waitMs === 0);
  const taken = refused
    .filter((operation) => !operation.keys.some((key) => isTaken(operation, byKey.get(key) ?? [], history)))
    .filter(({ keys, calledAt, settledAt = calledAt }) => !isForeign(history, keys, { from: calledAt, to: settledAt }))
    .map((operation) => fault(operation, 'but no caller can have held it'));
  const late = calls.filter(({ outcome }) => outcome === 'LOCK_WAIT_TIMEOUT');
  const unanswered = [...refused, ...late]
    .filter((operation) => unansweredMs(operation, history) > KNOWN_MS && !isOwn(operation, calls, history))
    .map((operation) =>
      fault(operation, `but its process had no answer for ${Math.round(unansweredMs(operation, history))} ms`),
    );
  return [...taken, ...unanswered];
}

function fault(operation: Operation, why: string): Violation {
  const { id, keys, settledAt, calledAt } = operation;
  return {
    rule: 'contention',
    message: `${id} was refused because of a holder of ${keys.join(' and ')}, ${why}`,
    operations: [operation],
    at: settledAt ?? calledAt,
  };
}

/** How long the process ran without an answer. */
function unansweredMs({ process, calledAt, settledAt = calledAt }: Operation, history: History): number {
  const from = history.unansweredSince(process, settledAt);
  return settledAt - from - history.standstillMs(process, { from, to: settledAt }, 0);
}

/**
 * Whether the process itself holds what the call lacks. A multi-key call keeps a key while it waits for the others, and for permits,
 * earlier callers go first.
 */
function isOwn(operation: Operation, calls: readonly Operation[], history: History): boolean {
  const { process, keys, calledAt, settledAt = calledAt } = operation;
  const { permits } = operation.options;
  const near = { from: settledAt - JUST_MS, to: settledAt };
  const own = calls.filter((other) => {
    if (other === operation || other.process !== process || !other.keys.some((key) => keys.includes(key))) return false;
    const mayBeAhead = other.keys.length > 1 || (permits !== undefined && other.waitMs > 0);
    const from = mayBeAhead ? other.calledAt : (other.hold?.from ?? Infinity);
    const to = other.hold === undefined ? (other.settledAt ?? Infinity) : holdEnd(other, history);
    return overlap({ from, to }, near) > 0;
  });
  if (permits === undefined) return own.length > 0;
  return [operation, ...own].reduce((sum, each) => sum + weightOf(each), 0) > permits;
}

function isTaken(operation: Operation, possessed: readonly Possession[], history: History): boolean {
  const { calledAt, settledAt = calledAt, kind, options, process } = operation;
  const troubled = history.troubled({ from: calledAt, to: settledAt }, process);
  const others = possessed.filter((each) => {
    // Without a reply the process relies on earlier ones.
    const knownMs = kind === 'read' ? GATE_MS : EARLIER_MS;
    const earlierMs = troubled ? longestTtl(each.operation) : knownMs;
    return each.operation !== operation && overlap(each, { from: calledAt - earlierMs, to: settledAt + 1 }) > 0;
  });
  if (kind === 'read') return others.some((each) => each.operation.kind !== 'read');
  const { permits } = options;
  if (permits === undefined) return others.length > 0;
  // A caller with fewer permits that waits goes first.
  const fewest = Math.min(permits, ...others.map((each) => each.operation.options.permits ?? permits));
  return weightOf(operation) + others.reduce((sum, each) => sum + each.weight, 0) > fewest;
}

/** After a data loss, the store may report a lock that its holder has lost. */
function isForeign({ dataLosses }: History, keys: readonly string[], during: Interval): boolean {
  return dataLosses.some(
    (loss) => loss.at >= during.from - AFTER_LOSS_MS && loss.from <= during.to && keys.includes(loss.key ?? keys[0]),
  );
}

const AFTER_LOSS_MS = 3_000;
