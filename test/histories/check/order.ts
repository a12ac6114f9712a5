import { groupBy } from './group-by.js';
import type { History, Violation } from './history.js';
import { WAITED, type Operation } from './operation.js';

/** Calls within this time may reach the server in either order. */
const TOGETHER_MS = 100;
/** Grants within this time may be observed in either order. */
const SEEN_MS = 50;

/** Without faults, callers with `fair: 'strict'` and callers of a semaphore are served in the order of their calls. */
export function checkOrder(history: History): Violation[] {
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
    const { outcome, settledAt: servedAt = 0, askedAt } = late;
    if (outcome !== 'granted') return [];
    const overtook = waited.find(({ process, askedAt: from, settledAt: to = 0 }) => {
      if (from >= askedAt - TOGETHER_MS || to <= servedAt + SEEN_MS || history.troubled({ from, to })) return false;
      // A process that was stopped asked later, and saw its grant later.
      const askedLateMs = history.standstillMs(process, { from, to: askedAt });
      // A claim takes several turns of the event loop, and each may be late.
      const sawLateMs = history.standstillMs(process, { from: servedAt, to }, 0);
      return from < askedAt - TOGETHER_MS - askedLateMs && to > servedAt + SEEN_MS + sawLateMs;
    });
    if (overtook === undefined) return [];
    const message = `${late.id} was served before ${overtook.id}, which came ${Math.round(askedAt - overtook.askedAt)} ms earlier`;
    return [{ rule: 'order', message: `${late.keys[0]}: ${message}`, operations: [overtook, late], at: servedAt }];
  });
}
