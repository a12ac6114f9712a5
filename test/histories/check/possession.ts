import { groupBy } from './group-by.js';
import { ttlOf, type History } from './history.js';
import type { Interval } from './interval.js';
import type { Operation } from './operation.js';

/** A lock that was handed over stands for at least so long. */
const CLAIM_WINDOW_MS = 1_750;
/** A release that Redis has executed, and the message of it, may be seen so much later. */
const ANSWER_MS = 100;
/** A release waits for its answer for a little longer. */
const RELEASE_WAITS_MS = 90;
/** P6: what an attempt without an answer leaves is undone so long after the network is back. */
const UNDONE_WITHIN_MS = 2_000;

/** For how long an operation may have stood in the way of others, in Redis or in its process. */
export interface Possession extends Interval {
  readonly operation: Operation;
  readonly weight: number;
}

/** Possessions by key: those of holders, and with `asking` those of callers that may have had an offer or a place in a queue. */
export function possessions(history: History, asking: boolean): ReadonlyMap<string, readonly Possession[]> {
  const all = history.operations
    .filter(({ inside }) => inside === undefined)
    .flatMap((operation) => {
      const interval = intervalOf(operation, history, asking);
      const kept = asking ? [] : keptWhileItWaits(operation, history);
      const whole = interval === undefined ? [] : operation.keys.map((key) => ({ key, ...interval }));
      const weight = operation.options.weight ?? 1;
      return [...kept, ...whole].map(({ key, from, to }) => ({ key, possession: { from, to, operation, weight } }));
    });
  const byKey = groupBy(all, ({ key }) => key);
  return new Map([...byKey].map(([key, own]) => [key, own.map(({ possession }) => possession)]));
}

function intervalOf(operation: Operation, history: History, asking: boolean): Interval | undefined {
  const { askedAt, settledAt, hold, process, outcome, keys } = operation;
  if (hold === undefined && !asking) return abandoned(operation, history);
  const end =
    hold === undefined ? (settledAt ?? history.endOf(process) ?? history.endsAt) : holdEnd(operation, history);
  const asked = { from: askedAt, to: end };
  // One that was refused at once stood nowhere.
  if (outcome === 'LOCK_CONTENDED' && keys.length === 1 && !history.troubled(asked, process)) return undefined;
  const heldFrom = hold === undefined ? end : Math.min(hold.from, ...Object.values(hold.sentAt));
  const from = asking ? Math.min(history.reachesServerAt(process, asked), hold?.from ?? end) : heldFrom;
  if (hold === undefined && from >= end) return undefined;
  return { from, to: end + tailMs(operation, history, asked) };
}

/** An attempt that ended without a lease may have been granted in Redis, if its answer was lost. */
function abandoned(operation: Operation, history: History): Interval | undefined {
  const { askedAt, settledAt, process } = operation;
  const end = settledAt ?? history.endOf(process) ?? history.endsAt;
  const asked = { from: askedAt, to: end };
  if (!history.troubled(asked, process) && settledAt !== undefined) return undefined;
  return { from: askedAt, to: end + tailMs(operation, history, asked) };
}

/** A call of several keys takes them in ascending order, and keeps those that it has while it waits for the next one. */
function keptWhileItWaits(operation: Operation, history: History): readonly (Interval & { readonly key: string })[] {
  const { keys, askedAt, settledAt, process } = operation;
  const to = (settledAt ?? history.endOf(process) ?? history.endsAt) + ANSWER_MS;
  const ascending = keys.toSorted((one, other) => (one < other ? -1 : 1));
  return ascending.slice(0, -1).map((key) => ({ key, from: askedAt, to }));
}

function holdEnd({ hold, releasedAt, options, settledAt = 0 }: Operation, history: History): number {
  const end = Math.max(hold!.to, releasedAt ?? 0);
  const minHold = settledAt + Number(options.minHold ?? 0);
  const expires = options.release === 'expire' || hold!.ended === 'killed' ? longestTtl({ options, events: [] }) : 0;
  return Math.min(Math.max(end, minHold, end + expires * 1.02), Math.max(end, history.endsAt));
}

function tailMs(operation: Operation, history: History, { from, to }: Interval): number {
  const { settledAt, hold, waitMs, process } = operation;
  const healthy = !history.troubled({ from, to }, process) && settledAt !== undefined;
  if (!healthy || hold?.ended === 'lost' || hold?.ended === 'killed') return longestTtl(operation) + UNDONE_WITHIN_MS;
  return isAnswered(operation) || (hold === undefined && waitMs === 0) ? 0 : ANSWER_MS;
}

/** A release does not wait for its answer for ever; one that ended sooner had its answer. */
function isAnswered({ hold, releasedAt }: Operation): boolean {
  return hold !== undefined && releasedAt !== undefined && releasedAt - hold.to < RELEASE_WAITS_MS;
}

/** The end of its lease, as others were told of it, is as far away at most. */
export function longestTtl({ options, events }: Pick<Operation, 'options' | 'events'>): number {
  const extended = events.map((event) => (event.type === 'extend' ? event.ttlMs : 0));
  return Math.max(CLAIM_WINDOW_MS, ttlOf(options), ...extended);
}
