import { groupBy } from './group-by.js';
import type { History, Violation } from './history.js';
import { WAITED, type Operation } from './operation.js';

/** Calls within this time may reach the server in either order. */
const TOGETHER_MS = 100;
/** Grants within this time may be observed in either order. */
const SEEN_MS = 50;

/** Without faults, callers with `fair: 'strict'` and callers of a semaphore are served in the order of their calls. */
export function checkOrder(history: History): Violation[] {
  // A process that polls asks for its turn only now and then.
  if (history.ofRun.some((event) => event.type === 'started' && event.polls === true)) return [];
  const waiting = history.operations.filter(
    ({ inside, isMultiKey, waitMs }) => inside === undefined && !isMultiKey && waitMs > 0,
  );
  const inOrder = waiting.filter(
    ({ kind, options }) => kind === 'semaphore' || (kind !== 'read' && options.fair === 'strict'),
  );
  return [...groupBy(inOrder, ({ keys }) => keys[0]).values()].flatMap((own) => overtaken(own, history));
}

function overtaken(operations: readonly Operation[], history: History): Violation[] {
  // A caller whose wait ended without a lease may have been overtaken, too.
  const waited = operations.filter(({ outcome }) => outcome !== undefined && WAITED.has(outcome));
  const inTurn = history.exact ? waited.filter((operation) => !mayQueueAgain(operation, operations)) : waited;
  return waited.flatMap((late) => {
    const { outcome, settledAt: servedAt = 0, calledAt } = late;
    if (outcome !== 'granted') return [];
    const overtook = inTurn.find((early) => {
      const { process, calledAt: from } = early;
      const to = servedAtOf(early, history);
      if (from >= calledAt - TOGETHER_MS || to <= servedAt + SEEN_MS || history.troubled({ from, to })) return false;
      // A process that was stopped called later, and saw its grant later.
      const calledLateMs = history.standstillMs(process, { from, to: calledAt }, 0);
      // A claim takes several turns of the event loop, and each may be late.
      const sawLateMs = history.standstillMs(process, { from: servedAt, to }, 0);
      return from < calledAt - TOGETHER_MS - calledLateMs && to > servedAt + SEEN_MS + sawLateMs;
    });
    if (overtook === undefined) return [];
    const message = `${late.id} was served before ${overtook.id}, which came ${Math.round(calledAt - overtook.calledAt)} ms earlier`;
    return [{ rule: 'order', message: `${late.keys[0]}: ${message}`, operations: [overtook, late], at: servedAt }];
  });
}

/**
 * When the caller was served. Real processes may see a reply late, which does not change the order, so a grant counts from the
 * time when its command was sent. A caller that waited sends it after its offer.
 */
function servedAtOf({ keys: [key], hold, settledAt = 0 }: Operation, { exact }: History): number {
  // No command confirms the later leases of a grant: the process hands it over in memory.
  return !exact && hold?.leases[key] === 1 ? hold.sentAt[key] : settledAt;
}

/**
 * A process with more callers than places queues again, behind other processes. The histories of real processes have shown no such
 * caller beyond the bounds. A process may have fewer places if it hands over no permit in memory.
 */
function mayQueueAgain({ process, options }: Operation, operations: readonly Operation[]): boolean {
  const rivals = operations.filter((other) => other.process === process);
  const callers = new Set(rivals.map(({ id }) => id.split('.')[0])).size;
  const places = (options.permits ?? 1) / (options.weight ?? 1);
  const handsOver = rivals.every((other) => other.options.renew !== false && other.options.release !== 'expire');
  return callers > places + 1 || (callers > places && !handsOver);
}
