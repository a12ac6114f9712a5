import type { History, Violation } from './history.js';
import { longestGap, type Interval } from './interval.js';
import type { Operation } from './operation.js';
import { possessions, type Possession } from './possession.js';

/**
 * P12 and P9: a message wakes a waiter. After a lost message or a dead waiter, the heartbeat or the end of a claim
 * window does.
 */
const HEALTHY_MS = 1_000;
const TROUBLED_MS = 3_000;
/** P9: an offer to a dead waiter is valid for a claim window, so a fault affects later calls, too. */
const AFTER_FAULT_MS = 2_000;

/** A free lock is granted to a waiter within the bounds, and at once after all faults. */
export function checkFreeLocks(history: History): Violation[] {
  const byKey = possessions(history, false);
  return history.operations
    .filter(({ inside }) => inside === undefined)
    .flatMap((operation) => {
      const { id, outcome, probe, askedAt, settledAt = askedAt } = operation;
      if (probe && outcome !== 'granted') return [fault(`${id} did not get a lock that had to be free`, operation)];
      if (outcome !== 'LOCK_WAIT_TIMEOUT') return [];
      const waited = { from: askedAt, to: settledAt };
      const gap = longestGap(
        operation.keys.flatMap((key) => inTheWay(operation, byKey.get(key) ?? [], waited)),
        waited,
      );
      const ms = gap.to - gap.from - history.standstillMs(operation.process, gap);
      if (ms <= (history.troubled({ ...waited, from: waited.from - AFTER_FAULT_MS }) ? TROUBLED_MS : HEALTHY_MS))
        return [];
      const since = Math.round(gap.from - askedAt);
      return [
        fault(
          `${id} waited, although ${operation.keys.join(' or ')} was free for ${Math.round(ms)} ms, ${since} ms after its call`,
          operation,
        ),
      ];
    });
}

function inTheWay(operation: Operation, possessed: readonly Possession[], waited: Interval): readonly Possession[] {
  return possessed.filter((each) => each.operation !== operation && each.to > waited.from && each.from < waited.to);
}

function fault(message: string, operation: Operation): Violation {
  return { rule: 'free locks', message, operations: [operation], at: operation.settledAt ?? operation.askedAt };
}
