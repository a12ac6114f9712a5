import { FENCE_TOO_LOW, FENCE_WRITTEN, LARGER_FENCE, NO_VOTE, TOO_LATE, VOTE, VOTED_BEFORE } from './reply-codes.js';
import { FENCE_TTL_MS } from '../protocol.js';
import { isLate, nowMs, time } from './clock.js';
import { counterKey, setCounterKey } from './counter-key.js';
import { fenceNumber, refuseFence } from './fencing-tokens.js';
import { notify } from './notify.js';
import { append, removeAll } from './queue.js';
import type { Reply } from './reply.js';
import { ARGV, KEYS, redis } from './server.js';
import { raiseExpiry } from './take.js';
import { emptyTable, processIn, processPart, toNumber } from './host.js';

/** Number of queued tokens that one call reads to find a process that a message reaches. */
const MOST_TRIED = 100;

/**
 * One step of a lock on one of several independent primaries. No primary decides alone: the caller counts their replies.
 *
 * Every step is idempotent by owner token. A token that was released on any primary is never requested again. TIME decides
 * whether a request is too late. Fencing tokens increase with TIME even when their counter is lost.
 *
 * Keys: `lock`, `queue` and `fence`.
 * - `lock`, string: the token that has this primary's vote, or the value of a foreign client; expires with the lease
 * - `queue`, sorted set: owner tokens that wait for a message; expires some time after the last attempt
 * - `fence`, string: last fencing token of the lock that was written here; expires ten minutes after the last grant or
 *   renewal
 *
 * Arguments: a command, the token that gets the vote, the owner token in the queue, x, y and z. An owner may use several
 * tokens, one after another.
 * - `a`: acquire; `w`: acquire, otherwise wait for a message. x: ttlMs. y: number of fencing tokens. z: deadline on this
 *   server's clock, after which nothing changes; 0: none
 * - `f`: write fencing tokens. x: the first one. y: the last one
 * - `d`: release. x: 1 to notify the next waiter, else 0. y: owner token to queue instead, or `-`. z: deadline after which
 *   nothing is queued; 0: none
 * - `n`: renew; `l`: renew, also to a shorter lease. x: ttlMs. y: last fencing token, or 0
 *
 * @returns three values:
 * - `a`, `w`: `VOTE, n, q`: n is the lowest first fencing token that this primary allows; q processes wait.
 *   `VOTED_BEFORE, n, q`: the token already had the vote. `NO_VOTE, ms, t`: token t has the vote (empty for a foreign client),
 *   which ends in ms (-1: no end). `TOO_LATE, c, 0`: c is the server's clock in ms
 * - `f`: `FENCE_WRITTEN, 0, 0`, or `FENCE_TOO_LOW, n, 0`: n is already written
 * - `d`: `VOTE, t, 0`: released; t = 1: a waiter was notified
 * - `n`, `l`: `VOTE, q, g`: renewed; q processes wait; g is `LARGER_FENCE` or 0
 * - `f`, `d`, `n`, `l`: `NO_VOTE, 0, 0`: the token does not have the vote here
 */
export function runQuorumStep(): Reply {
  const [lock, queue, counter] = KEYS;
  setCounterKey(counter);
  const [command, token, owner, x, y, z] = ARGV;
  const late = (command === 'a' || command === 'w' || command === 'd') && isLate(z);
  if (late && command !== 'd') return [TOO_LATE, nowMs(), 0];
  const voted = redis.call('GET', lock);
  const mine = voted === token;
  if (command === 'a' || command === 'w') {
    return requestVote(lock, queue, voted, token, owner, x, toNumber(y), command === 'w');
  }
  if (command === 'd') return releaseVote(lock, queue, mine, owner, x === '1', y, late);
  if (!mine) return [NO_VOTE, 0, 0];
  if (command === 'f') return writeFence(toNumber(x), y);
  return renewVote(lock, queue, x, y, command === 'l');
}

function requestVote(
  lock: string,
  queue: string,
  voted: string | false,
  token: string,
  owner: string,
  ttlMs: string,
  block: number,
  waits: boolean,
): Reply {
  const mine = voted === token;
  if (voted !== false && !mine) {
    if (waits) {
      append(queue, owner);
      notify(voted, 'c', lock);
    }
    return [NO_VOTE, redis.call('PTTL', lock), processIn(voted) === undefined ? '' : voted];
  }
  // This is the first write. A full server rejects it before anything changes.
  if (mine) raiseExpiry(lock, ttlMs);
  else redis.call('SET', lock, token, 'PX', ttlMs);
  redis.call('ZREM', queue, owner);
  return [mine ? VOTED_BEFORE : VOTE, lowestFence(block), redis.call('ZCARD', queue)];
}

/** @param instead - the owner token to queue after the release, or `-` */
function releaseVote(
  lock: string,
  queue: string,
  mine: boolean,
  owner: string,
  notifies: boolean,
  instead: string,
  late: boolean,
): Reply {
  if (mine) redis.call('DEL', lock);
  if (instead !== owner) redis.call('ZREM', queue, owner);
  const notified = mine && notifies ? notifyNext(lock, queue) : 0;
  // A repeated or late release must not queue a token.
  if (mine && instead !== '-' && !late) append(queue, instead);
  return [mine ? VOTE : NO_VOTE, notified, 0];
}

/**
 * Notifies the first queued process that a message reaches, and removes its token and the tokens in front of it.
 * @returns 1 if a process was notified
 */
function notifyNext(lock: string, queue: string): number {
  const unreached = emptyTable<boolean>();
  const gone: string[] = [];
  let notified = 0;
  for (const next of redis.call('ZRANGE', queue, 0, MOST_TRIED - 1)) {
    const process = processPart(next);
    gone.push(next);
    if (unreached[process] !== true && notify(next, 'g', lock) !== 0) {
      notified = 1;
      break;
    }
    unreached[process] = true;
  }
  removeAll(queue, gone);
  if (notified === 1) return 1;
  // The last process in the queue probably responds.
  const [last] = redis.call('ZRANGE', queue, -1, -1);
  return last !== undefined && notify(last, 'g', lock) !== 0 ? 1 : 0;
}

function lastFence(): number {
  return fenceNumber(redis.call('GET', counterKey)) ?? refuseFence(counterKey);
}

/** The lowest first fencing token that this primary allows. */
function lowestFence(block: number): number {
  const last = lastFence();
  const [seconds, microseconds] = time();
  return Math.max(last + 1, toNumber(seconds) * 1_000_000 + toNumber(microseconds) - block + 1);
}

/** Keeps the number while the lock is held, also on nodes that voted after the number was written. */
function renewVote(lock: string, queue: string, ttlMs: string, number: string, exact: boolean): Reply {
  const last = lastFence();
  const own = toNumber(number);
  if (exact) redis.call('PEXPIRE', lock, ttlMs);
  else raiseExpiry(lock, ttlMs);
  if (last < own) redis.call('SET', counterKey, number, 'PX', FENCE_TTL_MS);
  else redis.call('PEXPIRE', counterKey, FENCE_TTL_MS);
  return [VOTE, redis.call('ZCARD', queue), own > 0 && last > own ? LARGER_FENCE : 0];
}

function writeFence(first: number, last: string): Reply {
  const written = lastFence();
  if (written >= first) return [FENCE_TOO_LOW, written, 0];
  redis.call('SET', counterKey, last, 'PX', FENCE_TTL_MS);
  return [FENCE_WRITTEN, 0, 0];
}
