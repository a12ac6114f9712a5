import { READERS } from '../lock-value.js';
import { CLAIM_WINDOW_MS, SHORT_OFFER_MS } from '../protocol.js';
import { nowMs } from './clock.js';
import { notify, wakeNext } from './notify.js';
import { READERS_FROM, arrivalOf, removeAll } from './queue.js';
import { redis } from './server.js';
import { decimalOf, digits, emptyTable, processPart, toNumber } from './host.js';

/** The keys of one read/write lock. */
export interface ReadWriteKeys {
  readonly lock: string;
  readonly queue: string;
  /** The leases of readers. They count only while the lock key holds `readers`. */
  readonly readers: string;
  /** Exists while a live writer waits for readers, and stops new readers. */
  readonly gate: string;
}

/** Maximum number of expired leases that one call removes. */
const MOST_READERS_REMOVED = 100;
/** Maximum number of readers admitted at once; each reader that enters admits the next ones. */
export const MOST_LET_IN = 100;

/** The value of a gate that lets no reader in. */
const NO_READER = digits(READERS_FROM);

/** Whether the token holds a valid lease. An expired lease is never revived, even if it is still stored. */
export function reads({ lock, readers }: ReadWriteKeys, token: string): boolean {
  if (redis.call('GET', lock) !== READERS) return false;
  const ends = redis.call('ZSCORE', readers, token);
  return ends !== false && toNumber(ends) > nowMs();
}

/**
 * Whether a reader holds a valid lease. The lock key may hold `readers` without one: in its last millisecond, or after an
 * operator deleted the leases. Holders may still rely on those leases, so no reader may enter and no command may shorten
 * the lock.
 */
export function hasReader({ readers }: ReadWriteKeys): boolean {
  const last = redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES');
  return last.length > 0 && toNumber(last[1]) > nowMs();
}

/** Grants or extends a lease; never shortens it. */
export function lend({ readers }: ReadWriteKeys, token: string, ms: number): void {
  redis.call('ZADD', readers, 'GT', nowMs() + ms, token);
}

/**
 * Removes some expired leases in each call. The lock ends with the last lease, to the millisecond, even if its previous
 * end was later.
 * @returns false if no lease is left: the lock is then free
 */
export function settleReaders({ lock, readers, gate }: ReadWriteKeys): boolean {
  removeAll(readers, redis.call('ZRANGE', readers, '-inf', nowMs(), 'BYSCORE', 'LIMIT', 0, MOST_READERS_REMOVED));
  const last = redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES');
  if (last.length === 0 || toNumber(last[1]) <= nowMs()) {
    redis.call('UNLINK', lock, gate, readers);
    return false;
  }
  redis.call('PEXPIREAT', lock, last[1]);
  redis.call('PEXPIREAT', readers, last[1]);
  return true;
}

/** 1 if a writer waits, else 0; readers learn it from their replies. */
export const writerWaits = ({ gate }: ReadWriteKeys): number => redis.call('EXISTS', gate);

/** Milliseconds until the leases or the gate end; waiting readers learn it from their replies. */
export function untilOpen({ lock, gate }: ReadWriteKeys): number {
  const ms = redis.call('PTTL', lock);
  const gateMs = redis.call('PTTL', gate);
  return gateMs >= 0 ? Math.min(ms, gateMs) : ms;
}

/** The first writer of the queue up to a score, and its score; empty if there is none. */
export const firstWriter = ({ queue }: ReadWriteKeys, upTo = '+inf'): string[] =>
  redis.call('ZRANGE', queue, 0, upTo, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES');

/**
 * Closes the gate, except for queued readers up to the number `upTo`. It opens by itself when the writer makes no further
 * attempt. A closed gate keeps its value.
 * @returns whether it was open
 */
export function closeGate({ gate }: ReadWriteKeys, upTo = NO_READER): boolean {
  if (redis.call('PEXPIRE', gate, CLAIM_WINDOW_MS) === 1) return false;
  redis.call('SET', gate, upTo, 'PX', CLAIM_WINDOW_MS);
  return true;
}

/** The number of the last reader in the queue. */
export function lastReader({ queue }: ReadWriteKeys): string | undefined {
  const last = redis.call('ZRANGE', queue, '(0', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES');
  return last.length === 0 ? undefined : digits(arrivalOf(last[1]));
}

/** Whether a reader may join: no writer waits, or the gate lets it in. */
export function mayJoin({ queue, gate }: ReadWriteKeys, token: string): boolean {
  const upTo = redis.call('GET', gate);
  if (upTo === false || upTo === NO_READER) return upTo === false;
  const last = decimalOf(upTo);
  const score = redis.call('ZSCORE', queue, token);
  return last !== undefined && score !== false && arrivalOf(score) <= last;
}

/** Waiting readers and their scores, alternately. */
export const readersInQueue = ({ queue }: ReadWriteKeys, upTo = '(0'): string[] =>
  redis.call('ZRANGE', queue, '-inf', upTo, 'BYSCORE', 'LIMIT', 0, MOST_LET_IN, 'WITHSCORES');

/**
 * Admits waiting readers and removes them from the queue; readers of silent processes get no lease. An offer to a reader is a
 * lease, for as long as an offer to a writer.
 * @param own - has its lease already
 * @param lives - given if unresponsive processes count as dead
 * @returns false if no reader has a lease
 */
export function letIn(
  keys: ReadWriteKeys,
  waiting: readonly string[],
  own?: string,
  lives?: Record<string, boolean | undefined>,
): boolean {
  const gone: string[] = [];
  const reached = emptyTable<boolean>();
  let anyReached = own !== undefined;
  let missed = false;
  for (let i = 0; i < waiting.length; i += 2) {
    const token = waiting[i];
    const process = processPart(token);
    gone.push(token);
    if (token !== own && (lives === undefined || lives[process] === true)) {
      if (reached[process] !== false) reached[process] = notify(token, 'g', keys.lock) !== 0;
      lend(keys, token, reached[process] ? CLAIM_WINDOW_MS : SHORT_OFFER_MS);
      if (reached[process]) anyReached = true;
      else missed = true;
    }
  }
  removeAll(keys.queue, gone);
  if (missed && !anyReached) wakeNext(keys.lock, keys.queue);
  return settleReaders(keys);
}

/** Admits the remaining readers of the current turn. */
export function letMoreIn(keys: ReadWriteKeys): void {
  const upTo = redis.call('GET', keys.gate);
  const last = upTo === false ? undefined : decimalOf(upTo);
  // A gate with another value lets no reader in.
  if (upTo === NO_READER || (upTo !== false && last === undefined)) return;
  const waiting = readersInQueue(keys, last === undefined ? undefined : '(' + digits(last + 1));
  if (upTo !== false && waiting.length < 2 * MOST_LET_IN) redis.call('SET', keys.gate, NO_READER, 'KEEPTTL');
  if (waiting.length > 0) letIn(keys, waiting);
}
