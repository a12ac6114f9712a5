import { groupBy } from './group-by.js';
import type { RecordedOptions } from './event.js';
import type { History, Violation } from './history.js';
import { WAITED, type Operation } from './operation.js';

/** Calls within this time may reach the server in either order. */
const TOGETHER_MS = 100;
/** Grants of several processes within this time may be observed in either order. */
const SEEN_MS = 50;

/**
 * Callers of one process with equal options are served in the order of their calls. Without faults, callers with `fair: 'strict'` and callers of a semaphore are served in the order of
 * their calls, also those of several processes.
 */
export function checkOrder(history: History): Violation[] {
  const inProcess = [...groupBy(history.operations.filter(queues), lineOf).values()].flatMap((line) =>
    overtakenInProcess(line, history.precision.seenMs),
  );
  return history.precision.inTurn ? [...inProcess, ...checkProcesses(history)] : inProcess;
}

const queues = ({ inside, keys, waitMs, kind, options, hold }: Operation): boolean =>
  hold !== undefined &&
  inside === undefined &&
  keys.length === 1 &&
  kind !== 'read' &&
  options.fair !== 'strict' &&
  (kind !== 'semaphore' || waitMs > 0);

/** A process asks for permits in runs of callers with equal options; a fault may delay one of the runs. */
function lineOf({ process, keys, kind, options }: Operation): string {
  const { weight, ttl, renew, maxHold, minHold, release } = options;
  return [process, keys[0], ...(kind === 'semaphore' ? [weight, ttl, renew, maxHold, minHold, release] : [])].join(' ');
}

function overtakenInProcess(inOrder: readonly Operation[], seenMs: number): Violation[] {
  // The sort is stable, so calls with grants at the same time stay in order.
  const served = inOrder.toSorted((a, b) => a.hold!.from - b.hold!.from);
  return served.slice(1).flatMap((late, i) => {
    const first = served[i];
    const isSeen = late.hold!.from > first.hold!.from + seenMs;
    return isSeen && late.calledAt < first.calledAt ? [overtaking(first, late)] : [];
  });
}

function checkProcesses(history: History): Violation[] {
  const waiting = history.operations.filter(
    ({ inside, keys, waitMs }) => inside === undefined && keys.length === 1 && waitMs > 0,
  );
  const inOrder = waiting.filter(
    ({ kind, options }) => kind === 'semaphore' || (kind !== 'read' && options.fair === 'strict'),
  );
  return [...groupBy(inOrder, ({ keys }) => keys[0]).values()].flatMap((own) => overtaken(own, history));
}

function overtaken(operations: readonly Operation[], history: History): Violation[] {
  // A caller whose wait ended without a lease may have been overtaken, too.
  const waited = operations.filter(({ outcome }) => outcome !== undefined && WAITED.has(outcome));
  return waited.flatMap((late) => {
    const { outcome, settledAt: servedAt = 0, calledAt } = late;
    if (outcome !== 'granted') return [];
    const overtook = waited.find((early) => {
      const { process, calledAt: from, settledAt: to = 0 } = early;
      if (from >= calledAt - TOGETHER_MS || to <= servedAt + SEEN_MS || history.troubled({ from, to })) return false;
      if (history.precision.queuesAgain && mayQueueAgain(early, history)) return false;
      // A process that was stopped called later, and saw its grant later.
      const calledLateMs = history.standstillMs(process, { from, to: calledAt });
      // A claim takes several turns of the event loop, and each may be late.
      const sawLateMs = history.standstillMs(process, { from: servedAt, to }, 0);
      return from < calledAt - TOGETHER_MS - calledLateMs && to > servedAt + SEEN_MS + sawLateMs;
    });
    if (overtook === undefined) return [];
    return [overtaking(late, overtook)];
  });
}

/** A process with more callers than places queues again. It may have fewer places if it hands over no permit in memory. */
function mayQueueAgain({ process, keys, options }: Operation, { operations }: History): boolean {
  const rivals = operations.filter((other) => other.process === process && other.keys[0] === keys[0]);
  const callers = new Set(rivals.map(({ id }) => id.slice(0, id.lastIndexOf('.')))).size;
  const places = Number(options.permits) / Number(options.weight);
  return callers > places + 1 || (callers > places && rivals.some((other) => needsWholeTtl(other.options)));
}

const needsWholeTtl = ({ release, renew }: RecordedOptions): boolean => release === 'expire' || renew === false;

function overtaking(first: Operation, late: Operation): Violation {
  const message = `${first.id} was served before ${late.id}, which came ${Math.round(first.calledAt - late.calledAt)} ms earlier`;
  return { rule: 'order', message: `${first.keys[0]}: ${message}`, operations: [late, first], at: first.settledAt! };
}
