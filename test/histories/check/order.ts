import { groupBy } from './group-by.js';
import type { History, Violation } from './history.js';
import type { Operation } from './operation.js';

/** Calls that come so soon behind each other may reach the server in either order. */
const TOGETHER_MS = 100;
/** Grants of one moment are seen in either order. */
const SEEN_MS = 50;

/** Callers of a semaphore, and those with `fair: 'strict'`, are served in the order in which they came, while nothing is wrong. */
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
  const granted = operations.filter(({ outcome }) => outcome === 'granted');
  return granted.flatMap((late) => {
    const { settledAt: servedAt = 0, askedAt } = late;
    const first = granted.find(
      (early) => early.askedAt < askedAt - TOGETHER_MS && (early.settledAt ?? 0) > servedAt + SEEN_MS,
    );
    if (first === undefined) return [];
    const waited = { from: first.askedAt, to: first.settledAt ?? servedAt };
    if (history.troubled(waited) || history.standstillMs(first.process, waited) > 0) return [];
    const message = `${late.id} was served before ${first.id}, which came ${Math.round(askedAt - first.askedAt)} ms earlier`;
    return [{ rule: 'order', message: `${late.keys[0]}: ${message}`, operations: [first, late], at: servedAt }];
  });
}
