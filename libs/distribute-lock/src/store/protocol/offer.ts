import { CLAIM_WINDOW_MS, MOST_SILENT_READ, MOST_SILENT_REMOVED, QUEUE_TTL_MS, SHORT_OFFER_MS } from '../protocol.js';
import { nowMs } from './clock.js';
import { notify, wakeNext } from './notify.js';
import { arrivalOf, removeAll, stampOf } from './queue.js';
import { redis } from './server.js';
import { liveProcesses } from './silence.js';
import { processPart } from './host.js';

/**
 * Offers the lock to a waiter that was removed from the queue: the key holds its token for the claim window, and the waiter
 * claims it by acquire. If no subscriber receives the message, the offer is short, and the next process is notified. The
 * waiter is then queued again at its former place, because its subscription may be on a server that is not counted here.
 * Its last attempt counts as one claim window old, so it counts as silent until its next attempt.
 * @returns the milliseconds of the offer
 */
export function offer(lock: string, queue: string, head: string, score: string): number {
  redis.call('SET', lock, head, 'PX', CLAIM_WINDOW_MS);
  if (notify(head, 'g', lock) !== 0) return CLAIM_WINDOW_MS;
  redis.call('PEXPIRE', lock, SHORT_OFFER_MS);
  // Before the waiter is queued again, so that it is not notified itself.
  wakeNext(lock, queue);
  redis.call('ZADD', queue, arrivalOf(score) + stampOf(nowMs() - CLAIM_WINDOW_MS), head);
  redis.call('PEXPIRE', queue, QUEUE_TTL_MS);
  return SHORT_OFFER_MS;
}

/** What {@link offerToNext} found: the new holder, or whether live processes may be queued behind the tokens it read. */
export type Found = [taker: string | false, more: boolean];

/**
 * Offers the lock to the first writer, up to a score, whose process made an attempt in the last claim window. A token for
 * which `isOwn` is true gets no offer: the caller serves it.
 * @param origin - a token of the caller, whose process responds
 */
export function offerToNext(
  lock: string,
  queue: string,
  upTo: string,
  origin: string,
  isOwn: (this: void, token: string) => boolean,
): Found {
  const waiting = redis.call('ZRANGE', queue, 0, upTo, 'BYSCORE', 'LIMIT', 0, MOST_SILENT_READ, 'WITHSCORES');
  const lives = liveProcesses(waiting, origin);
  const removed: string[] = [];
  let found: string | undefined;
  let score = '';
  for (let i = 0; i < waiting.length; i += 2) {
    const token = waiting[i];
    if (lives[processPart(token)] !== true) {
      if (removed.length < MOST_SILENT_REMOVED) removed.push(token);
    } else if (found === undefined) {
      found = token;
      score = waiting[i + 1];
    }
  }
  removeAll(queue, removed);
  if (found === undefined) return [false, waiting.length === 2 * MOST_SILENT_READ];
  redis.call('ZREM', queue, found);
  if (!isOwn(found)) offer(lock, queue, found, score);
  return [found, false];
}
