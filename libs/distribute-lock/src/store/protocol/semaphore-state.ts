import { nowMs } from './clock.js';
import { removeAll } from './queue.js';
import { redis } from './server.js';
import { digits, emptyTable, permitsIn, permitsOfValue, toNumber, weightIn } from './host.js';

/** Maximum number of expired leases, and of places, that one call removes. */
export const MOST_REMOVED = 100;

/**
 * State of one semaphore, shared by the commands of a call. It is read once; every change is made here and in the
 * server.
 */
export interface Semaphore {
  /** `semaphore:<permits>`, as of the latest grant. Anything else is a lock of another kind. */
  readonly lock: string;
  /** Owner tokens that hold permits or have an offer, by the end of the lease. */
  readonly held: string;
  /** Waiting owner tokens, in the order of their scores. */
  readonly queue: string;
  /** The processes of these tokens, by the time until which their places count. */
  readonly places: string;
  /** Whether the key exists, of whatever kind. */
  isStored: boolean;
  /** The number of permits in the key; undefined: the key is free, or a lock of another kind has it. */
  limit: number | undefined;
  /** Ends of the valid leases, including offers; undefined until they are read. */
  ends: Record<string, number | undefined> | undefined;
  /** Tokens that have a lease, or had one in this call. */
  holders: string[];
  /** The sum of the weights of the valid leases. A stored counter could drift. */
  used: number;
  /** Whether the leases may have changed or one may have expired. */
  unsettled: boolean;
  /** Head and tail of the queue, as far as they are known; false: it is empty. */
  head: string | false | undefined;
  tail: string | false | undefined;
  /** The number of the last arrival; it is known with the tail. */
  arrival: number;
}

export function semaphoreOf(lock: string, held: string, queue: string, places: string): Semaphore {
  const stored = redis.call('GET', lock);
  return {
    lock,
    held,
    queue,
    places,
    isStored: stored !== false,
    limit: stored === false ? undefined : permitsOfValue(stored),
    ends: undefined,
    holders: [],
    used: 0,
    unsettled: false,
    head: undefined,
    tail: undefined,
    arrival: 0,
  };
}

/** Reads the valid leases. Without the lock key no lease is valid. */
export function leasesOf(state: Semaphore): Record<string, number | undefined> {
  if (state.ends !== undefined) return state.ends;
  const leases =
    state.limit === undefined
      ? []
      : redis.call('ZRANGE', state.held, '(' + digits(nowMs()), '+inf', 'BYSCORE', 'WITHSCORES');
  const ends = emptyTable<number>();
  const holders: string[] = [];
  for (let i = 0; i < leases.length; i += 2) {
    const weight = weightIn(leases[i]);
    if (weight > 0) {
      ends[leases[i]] = toNumber(leases[i + 1]);
      holders.push(leases[i]);
      state.used += weight;
    }
  }
  state.ends = ends;
  state.holders = holders;
  return ends;
}

/** In the last millisecond of its key the semaphore is free: the last lease has ended, and the server still has the key. */
export function freeIfEnded(state: Semaphore): void {
  if (state.limit === undefined || state.used > 0 || redis.call('PTTL', state.lock) !== 0) return;
  state.isStored = false;
  state.limit = undefined;
}

function lastEnd(state: Semaphore): number {
  const ends = leasesOf(state);
  let last = 0;
  for (const token of state.holders) last = Math.max(last, ends[token] ?? 0);
  return last;
}

function expireAt(state: Semaphore, last: number): void {
  redis.call('PEXPIREAT', state.lock, last);
  redis.call('PEXPIREAT', state.held, last);
}

/** The token that is next, if any. */
export function headOf(state: Semaphore): string | false {
  if (state.head === undefined) state.head = redis.call('ZRANGE', state.queue, 0, 0)[0] ?? false;
  return state.head;
}

/** The token that came last, if any. */
export function tailOf(state: Semaphore): string | false {
  if (state.tail === undefined) {
    const [last, score] = redis.call('ZRANGE', state.queue, -1, -1, 'WITHSCORES');
    state.tail = last ?? false;
    state.arrival = last === undefined ? 0 : toNumber(score);
  }
  return state.tail;
}

/** Removes a token from the queue. */
export function leaveQueue(state: Semaphore, token: string): void {
  if (redis.call('ZREM', state.queue, token) === 0) return;
  if (redis.call('EXISTS', state.queue) === 0) redis.call('UNLINK', state.places);
  if (token === state.head) state.head = undefined;
  if (token === state.tail) state.tail = undefined;
}

/**
 * Grants permits; the lock key gets the number of permits of the latest grant. A full server rejects the first write of a
 * plain acquire. The key always has an expiry.
 */
export function give(state: Semaphore, token: string, endsAt: number): void {
  const permits = permitsIn(token);
  leasesOf(state)[token] = endsAt;
  state.holders.push(token);
  state.used += weightIn(token);
  if (state.limit !== permits) {
    redis.call('SET', state.lock, 'semaphore:' + digits(permits), 'PXAT', lastEnd(state));
  }
  if (!state.isStored) redis.call('UNLINK', state.held);
  redis.call('ZADD', state.held, endsAt, token);
  if (!state.isStored) redis.call('PEXPIREAT', state.held, endsAt);
  state.isStored = true;
  state.limit = permits;
  leaveQueue(state, token);
}

/** Ends the lease of a token. */
export function takeBack(state: Semaphore, token: string): void {
  const ends = leasesOf(state);
  if (ends[token] === undefined) return;
  ends[token] = undefined;
  state.used -= weightIn(token);
  redis.call('ZREM', state.held, token);
}

/** Sets the end of a lease that may become shorter. */
export function shorten(state: Semaphore, token: string, endsAt: number): void {
  leasesOf(state)[token] = endsAt;
  redis.call('ZADD', state.held, endsAt, token);
  expireAt(state, lastEnd(state));
}

/** Extends a lease, never shortens it. A full server accepts the first write and all later writes. */
export function raise(state: Semaphore, token: string, ttlMs: number): void {
  const ends = leasesOf(state);
  const endsAt = nowMs() + ttlMs;
  if (endsAt <= ends[token]!) return;
  ends[token] = endsAt;
  expireAt(state, lastEnd(state));
  redis.call('ZADD', state.held, endsAt, token);
}

/** Removes expired leases; the lock key and the leases end with the last lease, to the millisecond. */
export function settleSemaphore(state: Semaphore): void {
  if (!state.unsettled || state.limit === undefined || state.ends === undefined) return;
  state.unsettled = false;
  const last = lastEnd(state);
  if (last === 0) {
    redis.call('UNLINK', state.lock, state.held);
    state.isStored = false;
    state.limit = undefined;
    state.ends = undefined;
    return;
  }
  const over = redis.call('ZRANGE', state.held, '-inf', nowMs(), 'BYSCORE', 'LIMIT', 0, MOST_REMOVED);
  removeAll(state.held, over);
  expireAt(state, last);
}

/** Runs between commands of one semaphore: without holders no state may remain. */
export function settleIfFree(state: Semaphore): void {
  if (state.ends !== undefined && lastEnd(state) === 0) settleSemaphore(state);
}
