import { READERS } from '../lock-value.js';
import { DELEGATED, FREE, GRANTED, GRANTED_NEXT, LOST, PASSED, QUEUED, RENEWED, TOO_LATE } from './reply-codes.js';
import { isLate, nowMs } from './clock.js';
import { fencingTokens } from './fencing-tokens.js';
import { notify } from './notify.js';
import { offer, offerToNext } from './offer.js';
import { append, arrivalOf } from './queue.js';
import type { Reply } from './reply.js';
import { redis, type Fault } from './server.js';
import { isSilent } from './silence.js';
import { claim, raiseExpiry, assignTo, takeUnqueued } from './take.js';
import { isReadToken, processPrefix, toNumber } from './host.js';
import { waitBehind } from './wait.js';
import { QUEUE_TTL_MS } from '../protocol.js';

/** What the queue of a free lock decides about an attempt. */
type NextTurn =
  /** Another process got the lock. */
  | { readonly owner: string }
  /** The call has reached its bounds: live processes may wait behind the removed ones. */
  | 'more'
  /** A reader is next: the script of read/write locks must decide. */
  | 'reader'
  /** No process is before the caller. */
  | 'own';

/** Offers a free lock to the first live process in the queue: its lease or its offer has ended. Any attempt that finds it does so. */
function offerToHead(lock: string, queue: string, token: string): NextTurn {
  const [head, score] = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES');
  if (head === undefined || head === token) return 'own';
  if (isReadToken(head)) return 'reader';
  if (!isSilent(score)) {
    redis.call('ZREM', queue, head);
    offer(lock, queue, head, score);
    return { owner: head };
  }
  const [taker, more] = offerToNext(lock, queue, '+inf', token, (waiting) => waiting === token);
  if (taker === false) return more ? 'more' : 'own';
  return taker === token ? 'own' : { owner: taker };
}

/** Acquires a lock, or waits behind its holder. */
export function acquire(
  lock: string,
  queue: string,
  token: string,
  ttlMs: string,
  block: string,
  deadlineMs: string,
  waits: boolean,
): Reply {
  if (isLate(deadlineMs)) return [TOO_LATE, nowMs(), 0];
  const taken = redis.call('EXISTS', queue) === 0 && takeUnqueued(lock, token, ttlMs);
  if (taken === true) return [GRANTED, fencingTokens(toNumber(block)), 0];
  return acquireHeld(lock, queue, token, ttlMs, block, waits, taken);
}

/**
 * Acquires a lock that has a holder or waiters, or waits behind them.
 * @param full - the error of a server that rejects writes, or false; the lock may belong to the caller nevertheless
 */
function acquireHeld(
  lock: string,
  queue: string,
  token: string,
  ttlMs: string,
  block: string,
  waits: boolean,
  full: Fault | false,
): Reply {
  let owner = redis.call('GET', lock);
  if (owner === token) return claim(lock, queue, token, ttlMs, toNumber(block));
  if (full !== false) throw full;
  if (owner === false) {
    const turn = offerToHead(lock, queue, token);
    if (turn === 'reader') return [DELEGATED, 0, 0];
    if (turn === 'more') return waitBehind(undefined, queue, token, waits, 0);
    if (turn === 'own') {
      assignTo(lock, token, ttlMs);
      redis.call('ZREM', queue, token);
      return [GRANTED, fencingTokens(toNumber(block)), redis.call('ZCARD', queue)];
    }
    owner = turn.owner;
  }
  if (waits && owner === READERS) return [DELEGATED, 0, 0];
  const reply = waitBehind(owner, queue, token, waits, redis.call('PTTL', lock));
  if (waits) notify(owner, 'c', lock);
  return reply;
}

/**
 * Releases the lock, removes the token from the queue, or undoes an attempt. A released lock is offered to the head of the queue,
 * whose process claims it. `next` is a token of the releasing process: it is queued last, or granted at once if the queue is
 * empty or begins with it. With `-`, any head of the releasing process is granted at once. A late release also hands the lock
 * over, but grants nothing to its own process.
 */
export function release(
  lock: string,
  queue: string,
  token: string,
  next: string,
  ttlMs: string,
  block: string,
  deadlineMs: string,
): Reply {
  const granted = next === '' || isLate(deadlineMs) ? '' : next;
  const owner = redis.call('GET', lock);
  if (owner !== token) {
    // The token may be that of the last waiting writer, which the script of read/write locks must handle.
    if (owner === READERS) return [DELEGATED, 0, 0];
    redis.call('ZREM', queue, token);
    return [LOST, owner === false ? 0 : 1, 0];
  }
  const wanted = granted !== '' && granted !== '-';
  const own = granted === '-' ? processPrefix(token) : '';
  // The first write is a command that a server without memory accepts; it then accepts all later writes of the script.
  let [head, score] = redis.call('ZPOPMIN', queue);
  // After a short offer the holder's own token may still be queued.
  if (head === token) [head, score] = redis.call('ZPOPMIN', queue);
  if (head === undefined) {
    if (!wanted) {
      redis.call('DEL', lock);
      return [FREE, 0, 0];
    }
    head = granted;
  } else if (isReadToken(head)) {
    redis.call('ZADD', queue, score, head);
    redis.call('PEXPIRE', queue, QUEUE_TTL_MS);
    return [DELEGATED, 0, 0];
  } else if (head !== granted && (own === '' || processPrefix(head) !== own)) {
    if (wanted) append(queue, granted, arrivalOf(score));
    const offeredMs = offer(lock, queue, head, score);
    return wanted ? [QUEUED, offeredMs, 0] : [PASSED, 0, 0];
  }
  assignTo(lock, head, ttlMs);
  return [GRANTED_NEXT, fencingTokens(toNumber(block)), head];
}

/** Extends a lease; shortens it only if the command says so. */
export function renew(lock: string, queue: string, token: string, ttlMs: number | string, exact: boolean): Reply {
  const owner = redis.call('GET', lock);
  if (owner !== token) return [LOST, owner === false ? 0 : 1, 0];
  if (exact) redis.call('PEXPIRE', lock, ttlMs);
  else raiseExpiry(lock, ttlMs);
  return [RENEWED, redis.call('ZCARD', queue), 0];
}
