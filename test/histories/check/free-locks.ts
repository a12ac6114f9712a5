import { groupBy } from './group-by.js';
import type { History, Violation } from './history.js';
import { longestGap, overlap, type Interval } from './interval.js';
import { WAITED, weightOf, type Operation } from './operation.js';
import { GATE_MS, possessions, type Possession } from './possession.js';

/**
 * P12 and P9: a message wakes a waiter. After a lost message or a dead waiter, the heartbeat or the end of a claim
 * window does.
 */
const HEALTHY_MS = 1_000;
const TROUBLED_MS = 3_000;
/** P9: an offer to a dead waiter is valid for a claim window, so a fault affects later calls, too. */
const AFTER_FAULT_MS = 2_000;
/** Calls within this time may reach the server in either order. */
const TOGETHER_MS = 100;

/** A free lock is granted to a waiter within the bounds. */
export function checkFreeLocks(history: History): Violation[] {
  const byKey = possessions(history, false);
  const waiting = groupBy(
    history.operations.filter(waits).flatMap((operation) => operation.keys.map((key) => ({ key, operation }))),
    ({ key }) => key,
  );
  return history.operations
    .filter(({ inside }) => inside === undefined)
    .flatMap((operation) => {
      const { id, outcome = '', calledAt, settledAt = calledAt } = operation;
      if (operation.waitMs === 0 || !WAITED.has(outcome)) return [];
      const waited = { from: calledAt, to: settledAt };
      const gap = longestGap(
        operation.keys.flatMap((key) => [
          ...inTheWay(operation, byKey.get(key) ?? [], waited),
          ...aheadOf(operation, waiting.get(key) ?? [], history),
        ]),
        waited,
      );
      const ms = gap.to - gap.from - history.standstillMs(operation.process, gap);
      if (ms <= longestMs(operation, waited, history)) return [];
      const since = Math.round(gap.from - calledAt);
      return [
        fault(
          `${id} waited, although ${operation.keys.join(' or ')} was free for ${Math.round(ms)} ms, ${since} ms after its call`,
          operation,
        ),
      ];
    });
}

function longestMs({ kind }: Operation, waited: Interval, history: History): number {
  const isTroubled = history.troubled({ ...waited, from: waited.from - AFTER_FAULT_MS });
  return (isTroubled ? TROUBLED_MS : HEALTHY_MS) + (kind === 'read' ? GATE_MS : 0);
}

/** When others hold the lock, or so many of its permits that the rest does not suffice. Readers do not exclude each other. */
function inTheWay(operation: Operation, possessed: readonly Possession[], waited: Interval): readonly Interval[] {
  const others = possessed.filter(
    (each) => each.operation !== operation && overlap(each, waited) > 0 && !(reads(operation) && reads(each.operation)),
  );
  const { permits } = operation.options;
  if (permits === undefined) return others;
  const times = [...new Set(others.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const parts = times.slice(1).map((to, i) => ({ from: times[i], to }));
  return parts.filter((part) => weightOf(operation) + weightIn(others, part) > permits);
}

function weightIn(possessed: readonly Possession[], part: Interval): number {
  return possessed.reduce((sum, each) => sum + (overlap(each, part) > 0 ? each.weight : 0), 0);
}

const reads = ({ kind }: Operation): boolean => kind === 'read';
const waits = ({ waitMs, inside }: Operation): boolean => waitMs > 0 && inside === undefined;

/** Waits of callers that may go first: those of writers before a reader, and those before it in the queue for permits. */
function aheadOf(
  operation: Operation,
  waiting: readonly { readonly operation: Operation }[],
  history: History,
): readonly Interval[] {
  const { kind } = operation;
  if (kind !== 'read' && (kind !== 'semaphore' || !waits(operation))) return [];
  return waiting
    .map((other) => other.operation)
    .filter((other) => other !== operation && mayGoFirst(other, operation))
    .map((other) => ({ from: other.calledAt, to: other.settledAt ?? history.endOf(other.process) ?? Infinity }));
}

function mayGoFirst(other: Operation, operation: Operation): boolean {
  if (reads(operation)) return !reads(other);
  return other.calledAt < operation.calledAt + TOGETHER_MS || weightOf(other) > weightOf(operation);
}

function fault(message: string, operation: Operation): Violation {
  return { rule: 'free locks', message, operations: [operation], at: operation.settledAt ?? operation.calledAt };
}
