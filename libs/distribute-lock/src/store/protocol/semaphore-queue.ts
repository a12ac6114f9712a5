import {
  CLAIM_WINDOW_MS,
  MOST_HOLDERS_NOTIFIED,
  MOST_PERMIT_OFFERS,
  MOST_PLACES_SEARCHED,
  QUEUE_TTL_MS,
  SHORT_OFFER_MS,
} from '../protocol.js';
import { nowMs } from './clock.js';
import { notify, wakeNext } from './notify.js';
import {
  give,
  headOf,
  leasesOf,
  leaveQueue,
  MOST_REMOVED,
  shorten,
  tailOf,
  type Semaphore,
} from './semaphore-state.js';
import { redis } from './server.js';
import { emptyTable, permitsIn, processIn, toNumber, weightIn } from './host.js';

const placeOf = (token: string): string => processIn(token) ?? token;

/**
 * Extends the time for which the places of a process count: until it makes no attempt for a claim window. One attempt
 * counts for all of them.
 */
export function extendPlaces({ places }: Semaphore, token: string): void {
  redis.call('ZADD', places, nowMs() + CLAIM_WINDOW_MS, placeOf(token));
  redis.call('PEXPIRE', places, QUEUE_TTL_MS);
}

function placeEnd({ places }: Semaphore, token: string): number {
  const end = redis.call('ZSCORE', places, placeOf(token));
  return end === false ? 0 : toNumber(end);
}

/** Sends one message to each other process that holds permits. */
function notifyHolders(state: Semaphore, token: string): void {
  const notified = emptyTable<boolean>();
  notified[processIn(token) ?? ''] = true;
  let count = 0;
  const ends = leasesOf(state);
  for (const holder of state.holders) {
    const process = ends[holder] === undefined ? undefined : processIn(holder);
    if (process !== undefined && notified[process] !== true && count < MOST_HOLDERS_NOTIFIED) {
      notified[process] = true;
      count += 1;
      notify(holder, 'c', state.lock);
    }
  }
}

/** How a token was queued: 0 it was queued before; 1 this command queued it; 3 the same, behind another process. */
export type QueuedPlace = 0 | 1 | 3;

/**
 * Queues a token; a queued token keeps its place. The process in front is notified, because its later callers queue
 * behind `token`. If the token is the head, the holders are notified: a process that holds all permits would otherwise not
 * learn that another process waits.
 */
export function enqueue(state: Semaphore, token: string): QueuedPlace {
  const last = tailOf(state);
  const isNew = redis.call('ZADD', state.queue, 'NX', state.arrival + 1, token) === 1;
  redis.call('PEXPIRE', state.queue, QUEUE_TTL_MS);
  if (isNew) {
    state.tail = token;
    state.arrival += 1;
  }
  if (last === false) state.head = token;
  extendPlaces(state, token);
  const adjacent = last === false || processIn(last) === processIn(token);
  if (headOf(state) === token) notifyHolders(state, token);
  else if (isNew && last !== false && !adjacent) notify(last, 'c', state.lock);
  if (!isNew) return 0;
  return adjacent ? 1 : 3;
}

/** 1 if another process waits, else 0. Reads the first places only, so it may miss one in a long queue. */
export function others(state: Semaphore, token: string): number {
  const process = processIn(token);
  const last = tailOf(state);
  if (last === false) return 0;
  if (processIn(last) !== process) return 1;
  for (const waiting of redis.call('ZRANGE', state.queue, 0, MOST_PLACES_SEARCHED)) {
    if (processIn(waiting) !== process) return 1;
  }
  return 0;
}

/** What an assignment of permits decided. */
export interface Served {
  /** Whether the caller got its permits. */
  readonly self: boolean;
  /** Whether the message of an offer reached no subscriber. */
  readonly missed: boolean;
  /** The call has reached its bounds, and live processes may be queued behind the removed places. */
  readonly stopped: boolean;
}

/**
 * The only place where permits are granted. They go to the heads of the queue while they fit. The token `self` comes last
 * if it is not queued. A head that does not fit blocks the tokens behind it. Each token fits within the number of permits
 * that it carries, so no more than the largest of them are in use.
 */
function assign(state: Semaphore, self: string | undefined, ttlMs: number): Served {
  const now = nowMs();
  let served = false;
  let missed = false;
  let offers = 0;
  let removed = 0;
  const reached = emptyTable<boolean>();
  while (offers < MOST_PERMIT_OFFERS) {
    if (removed >= MOST_REMOVED) {
      // The process that came last probably responds: it makes an attempt, and its calls remove the rest.
      const last = self === undefined ? tailOf(state) : false;
      if (last !== false) notify(last, 'g', state.lock);
      return { self: served, missed, stopped: true };
    }
    const first = headOf(state) || (served ? undefined : self);
    if (first === undefined) return { self: served, missed, stopped: false };
    const weight = weightIn(first);
    const permits = permitsIn(first);
    const isUsable = weight > 0 && weight <= permits;
    if (!isUsable || weight > permits - state.used) {
      // A head that does not fit blocks the queue while its process responds. A token without a weight is removed.
      if (isUsable && (first === self || placeEnd(state, first) > now)) {
        return { self: served, missed, stopped: false };
      }
      leaveQueue(state, first);
      removed += 1;
    } else if (first === self) {
      give(state, first, now + ttlMs);
      served = true;
    } else {
      // An offer whose message has no receiver is short, as for an exclusive lock.
      const process = processIn(first) ?? '';
      give(state, first, now + CLAIM_WINDOW_MS);
      if (reached[process] !== false) reached[process] = notify(first, 'g', state.lock) !== 0;
      if (!reached[process]) {
        shorten(state, first, now + SHORT_OFFER_MS);
        missed = true;
      }
      offers += 1;
    }
  }
  return { self: served, missed, stopped: false };
}

/** Serves the queue, and then the caller's token, if it is given. */
export function serve(state: Semaphore, self?: string, ttlMs = 0): Served {
  const served = assign(state, self, ttlMs);
  if (served.missed) wakeNext(state.lock, state.queue);
  return served;
}

/**
 * Milliseconds until permits may become free without a message: the first lease or the place of the head ends.
 * @param stopped - whether the last assignment reached the bounds of a call
 */
export function left(state: Semaphore, token: string, stopped: boolean): number {
  if (stopped) return 0;
  let first: number | undefined;
  const ends = leasesOf(state);
  for (const holder of state.holders) {
    const endsAt = ends[holder];
    if (endsAt !== undefined && (first === undefined || endsAt < first)) first = endsAt;
  }
  const ahead = headOf(state);
  if (ahead !== false && ahead !== token) {
    const untilMs = placeEnd(state, ahead);
    if (first === undefined || untilMs < first) first = untilMs;
  }
  return first === undefined ? -1 : Math.max(first - nowMs(), 0);
}
