import { QUEUE_TTL_MS } from '../protocol.js';
import { nowMs } from './clock.js';
import { redis } from './server.js';
import { isReadToken, toNumber } from './host.js';

/**
 * The score of a queued token is its arrival number plus a stamp. The numbers of readers start here, far below 0, so readers
 * come before all others, and the head shows whether a reader waits.
 */
export const READERS_FROM = -(2 ** 36);
/** The stamp is the time of the last attempt: the server's milliseconds modulo this number, divided by it. */
export const STAMPS = 2 ** 16;

/** The time of an attempt, as the fraction of a score. */
export const stampOf = (ms: number): number => (ms % STAMPS) / STAMPS;

/** The arrival number of a score. */
export const arrivalOf = (score: string): number => Math.floor(toNumber(score));

/** The number of the last arrival. Behind a writer at the tail, a reader may have arrived later, so it is read too. */
function lastArrival(queue: string): number {
  const tail = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES');
  if (tail.length === 0) return 0;
  const last = arrivalOf(tail[1]);
  if (last < 0) return last - READERS_FROM;
  if (last === 0) return 0;
  const readers = redis.call('ZRANGE', queue, '(0', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES');
  return readers.length === 0 ? last : Math.max(last, arrivalOf(readers[1]) - READERS_FROM);
}

/**
 * Queues a token behind the others; a queued token keeps its place.
 * @param after - number of a token that has just left the queue
 * @returns whether it was not queued before
 */
export function append(queue: string, token: string, after = 0): boolean {
  let arrival = Math.max(lastArrival(queue), after) + 1;
  if (isReadToken(token)) arrival = READERS_FROM + arrival;
  const stamp = stampOf(nowMs());
  const isNew = redis.call('ZADD', queue, 'NX', arrival + stamp, token) === 1;
  if (!isNew) redis.call('ZADD', queue, arrivalOf(redis.call('ZSCORE', queue, token) as string) + stamp, token);
  redis.call('PEXPIRE', queue, QUEUE_TTL_MS);
  return isNew;
}

/** Removes tokens from a set. */
export function removeAll(key: string, tokens: readonly string[]): void {
  if (tokens.length > 0) redis.call('ZREM', key, ...tokens);
}
