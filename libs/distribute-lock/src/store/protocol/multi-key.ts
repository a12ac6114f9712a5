import { BUSY, GRANTED, TOO_LATE } from './reply-codes.js';
import { isLate, nowMs } from './clock.js';
import { fenceNumber, fencingTokens, raiseTo, refuseFence, saveFence } from './fencing-tokens.js';
import { setCounterKey } from './counter-key.js';
import { addReply, type Replies, type Reply } from './reply.js';
import { ARGV, KEYS, redis } from './server.js';
import { fenceMs } from './settings.js';
import { assignTo } from './take.js';
import { allWords, digits, safely, toNumber } from './host.js';

/** The index of the first owner token in a command. */
const TOKENS_FROM = 2;

/**
 * Acquires several exclusive locks for one caller: all of them or none.
 *
 * Every command is idempotent by owner token, so it may be sent again. All times are those of the server. If a lock is held or
 * has waiters, nothing changes; `runLocks` then acquires the locks one after another.
 *
 * Keys: `fence`, then `lock` and `queue` for each lock, as for `runLocks`. In a Cluster `fence` is the counter of the first
 * lock, and each lock has a third key: its counter.
 *
 * Arguments: commands `<ttlMs> <deadlineMs> <ownerToken> ...`, with one token for each lock in their order.
 *
 * Replies, three values for each command:
 * - `GRANTED, n, 0`: n is the fencing token of the first lock, n + 1 that of the second, and so on
 * - `BUSY, ms, 0`: nothing changed: a lock is held or has waiters; its lease ends in ms (-1: unknown)
 * - `REFUSED, e, 0` and `TOO_LATE, c, 0`: as for `runLocks`
 *
 * @returns the replies in one flat list
 */
export function runMultiKey(): Replies {
  setCounterKey(KEYS[0]);
  const replies: Replies = [];
  let first = 1;
  for (let i = 0; i < ARGV.length; i += 1) {
    const words = allWords(ARGV[i]);
    const reply = safely(takeAll, first, words);
    first += stride() * (words.length - TOKENS_FROM);
    addReply(replies, i, reply);
  }
  saveFence();
  return replies;
}

/** Number of keys of one lock; in a Cluster each lock has a counter. */
const stride = (): number => (fenceMs === undefined ? 2 : 3);

/** @param words - `<ttlMs> <deadlineMs> <ownerToken> ...` */
function takeAll(first: number, words: readonly string[]): Reply {
  if (isLate(words[1])) return [TOO_LATE, nowMs(), 0];
  const ttlMs = words[0];
  const leaseMs = toNumber(ttlMs);
  const count = words.length - TOKENS_FROM;
  for (let i = 0; i < count; i += 1) {
    const at = first + stride() * i;
    if (!isFree(KEYS[at], KEYS[at + 1], words[i + TOKENS_FROM])) {
      return [BUSY, Math.max(redis.call('PTTL', KEYS[at]), -1), 0];
    }
  }
  for (let i = 0; i < count; i += 1) {
    const lock = KEYS[first + stride() * i];
    if (redis.call('PTTL', lock) < leaseMs) assignTo(lock, words[i + TOKENS_FROM], ttlMs);
  }
  return [GRANTED, blockFor(first, count), 0];
}

/** A lock with the token already belongs to the caller: the command is a repetition. */
function isFree(lock: string, queue: string, token: string): boolean {
  const owner = redis.call('GET', lock);
  if (owner === token) return true;
  return owner === false && redis.call('EXISTS', queue) === 0;
}

/**
 * In a Cluster each lock has a counter. The numbers start after the largest of them, and all counters are raised.
 * @returns the fencing token of the first lock; the next lock has the next number
 */
function blockFor(first: number, count: number): number {
  let number = fencingTokens(count);
  if (fenceMs === undefined) return number;
  for (let i = 1; i < count; i += 1) {
    const key = KEYS[first + 3 * i + 2];
    const issued = fenceNumber(redis.call('GET', key));
    if (issued === undefined) refuseFence(key);
    number = Math.max(number, issued + 1 - i);
  }
  for (let i = 1; i < count; i += 1) redis.call('SET', KEYS[first + 3 * i + 2], digits(number + i), 'PX', fenceMs);
  raiseTo(number);
  return number;
}
