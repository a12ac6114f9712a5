import { groupBy } from './group-by.js';
import { ttlOf, type History } from './history.js';
import type { Interval } from './interval.js';
import { weightOf, type Hold, type Operation } from './operation.js';

/** A reading process learns with its next renewal that a waiting writer has left. */
export const GATE_MS = 1_500;
/** The shortest validity of an offer. */
const CLAIM_WINDOW_MS = 1_750;
/** Delay until a process sees an executed release or its message, while the process of that release runs. */
const ANSWER_MS = 100;
/** A release waits slightly longer for its reply. */
const RELEASE_WAITS_MS = 90;
/** P6: an attempt without a reply is undone this long after the network is back. */
const UNDONE_WITHIN_MS = 2_000;

/** How long an operation may have blocked others, in Redis or in its process. */
export interface Possession extends Interval {
  readonly operation: Operation;
  readonly weight: number;
}

/**
 * Possessions by key: those of holders, and with `withWaiting` those of callers with a possible offer or place in a queue.
 */
export function possessions(history: History, withWaiting: boolean): ReadonlyMap<string, readonly Possession[]> {
  const all = history.operations
    .filter(({ inside }) => inside === undefined)
    .flatMap((operation) => {
      const interval = intervalOf(operation, history, withWaiting);
      const kept = withWaiting ? [] : keptWhileItWaits(operation, history);
      const whole = interval === undefined ? [] : operation.keys.map((key) => ({ key, ...interval }));
      const weight = weightOf(operation);
      return [...kept, ...whole].map(({ key, from, to }) => ({ key, possession: { from, to, operation, weight } }));
    });
  const byKey = groupBy(all, ({ key }) => key);
  return new Map([...byKey].map(([key, own]) => [key, own.map(({ possession }) => possession)]));
}

function intervalOf(operation: Operation, history: History, withWaiting: boolean): Interval | undefined {
  const { calledAt, settledAt, hold, process, outcome, keys } = operation;
  if (hold === undefined && !withWaiting) return abandoned(operation, history);
  const end =
    hold === undefined ? (settledAt ?? history.endOf(process) ?? history.endsAt) : holdEnd(operation, history);
  const pending = { from: calledAt, to: end };
  // A call that was refused at once had no place.
  if (outcome === 'LOCK_CONTENDED' && keys.length === 1 && !history.troubled(pending, process)) return undefined;
  const heldFrom = hold === undefined ? end : Math.min(hold.from, ...Object.values(hold.sentAt));
  const from = withWaiting ? Math.min(history.reachesServerAt(process, pending), hold?.from ?? end) : heldFrom;
  if (hold === undefined && from >= end) return undefined;
  return { from, to: history.runsFor(process, end, tailMs(operation, history, pending)) };
}

/** An attempt without a lease may have been granted in Redis if its reply was lost. */
function abandoned(operation: Operation, history: History): Interval | undefined {
  const { calledAt, settledAt, process } = operation;
  const end = settledAt ?? history.endOf(process) ?? history.endsAt;
  const pending = { from: calledAt, to: end };
  if (!history.troubled(pending, process) && settledAt !== undefined) return undefined;
  return { from: calledAt, to: history.runsFor(process, end, tailMs(operation, history, pending)) };
}

/**
 * A multi-key call acquires its keys in ascending order, and keeps the acquired ones while it waits for the next one.
 */
function keptWhileItWaits(operation: Operation, history: History): readonly (Interval & { readonly key: string })[] {
  const { keys, calledAt, settledAt, process } = operation;
  const to = (settledAt ?? history.endOf(process) ?? history.endsAt) + ANSWER_MS;
  const ascending = keys.toSorted((one, other) => (one < other ? -1 : 1));
  return ascending.slice(0, -1).map((key) => ({ key, from: calledAt, to }));
}

/** When the key of the operation may be free again: after the last of its nested calls. */
export function holdEnd(operation: Operation, history: History): number {
  const { options } = operation;
  const ends = [operation, ...nestedIn(operation)].map(({ hold, releasedAt }) =>
    Math.max(hold!.to, hold!.detachedUntil ?? 0, releasedAt ?? 0),
  );
  const end = Math.max(...ends);
  const minHold = options.minHold === undefined ? 0 : minHoldEnd(operation, history);
  const isLeft = options.release === 'expire' || endsAs(operation, 'killed');
  const expires = isLeft ? Math.max(...[operation, ...nestedIn(operation)].map(longestTtl)) : 0;
  return Math.min(Math.max(end, minHold, end + expires * 1.02), Math.max(end, history.endsAt));
}

/** When the key is released after `minHold`. A process that stands still then releases it later, or its ttl ends it. */
function minHoldEnd(operation: Operation, history: History): number {
  const { options, settledAt = 0, process } = operation;
  const at = settledAt + Number(options.minHold ?? 0);
  return Math.min(history.turnsAt(process, at) + ANSWER_MS, at + longestTtl(operation) + ANSWER_MS);
}

/** All nested calls with a lease. */
function nestedIn({ nested }: Operation): readonly Operation[] {
  const direct = nested.filter(({ hold }) => hold !== undefined);
  return direct.concat(direct.flatMap(nestedIn));
}

const endsAs = (operation: Operation, ended: Hold['ended']): boolean =>
  [operation, ...nestedIn(operation)].some(({ hold }) => hold?.ended === ended);

function tailMs(operation: Operation, history: History, { from, to }: Interval): number {
  const { settledAt, hold, waitMs, process } = operation;
  const healthy = !history.troubled({ from, to }, process) && settledAt !== undefined;
  if (!healthy || endsAs(operation, 'lost') || endsAs(operation, 'killed'))
    return longestTtl(operation) + UNDONE_WITHIN_MS;
  return isAnswered(operation) || (hold === undefined && waitMs === 0) ? 0 : ANSWER_MS;
}

/** A release waits for its reply only for a limited time; one that ended earlier had its reply. */
function isAnswered(operation: Operation): boolean {
  return [operation, ...nestedIn(operation)].every(
    ({ hold, releasedAt }) => hold !== undefined && releasedAt !== undefined && releasedAt - hold.to < RELEASE_WAITS_MS,
  );
}

/** The latest end of its lease that other callers may know. */
export function longestTtl({ options, events }: Operation): number {
  const extended = events.map((event) => (event.type === 'extend' ? event.ttlMs : 0));
  return Math.max(CLAIM_WINDOW_MS, ttlOf(options), ...extended);
}
