import { FREE, GRANTED } from './reply-codes.js';
import { isLate } from './clock.js';
import { setCounterKey } from './counter-key.js';
import { acquire, release, renew } from './exclusive.js';
import { FENCE_LIMIT, fencingTokens, saveFence } from './fencing-tokens.js';
import { addReply, type Replies, type Reply } from './reply.js';
import { ARGV, KEYS, redis } from './server.js';
import { takeUnqueued } from './take.js';
import { firstLetter, safely, tokenOfRelease, toNumber, wordsOf } from './host.js';

/**
 * Runs the lock commands of one tick in their order, with the same results as separate calls.
 *
 * Every command is idempotent by owner token, so it may be sent again. All times are those of the server: TIME decides
 * whether an acquire is too late. Fencing tokens increase with TIME even when their counter is lost.
 *
 * Keys: `fence`, then `lock` and `queue` for each command.
 * - `fence`, string: last fencing token that was issued, one for all locks of a prefix; never expires. In a Cluster one
 *   for each lock, which expires; a call then has commands of one lock only
 * - `lock`, string: owner token of the holder, or the value of a foreign client; expires with the lease
 * - `queue`, sorted set: waiting owner tokens, in the order of their scores, readers first; expires some time after the
 *   last attempt
 *
 * Arguments: a command for each pair of `lock` and `queue`, its words separated by single spaces.
 * - `a <ownerToken> <ttlMs> <block> <deadlineMs> [+]`: acquire; otherwise reply that another owner holds the lock
 * - `w <ownerToken> <ttlMs> <block> <deadlineMs> [+]`: acquire; otherwise wait in the queue
 * - `d <ownerToken>`: release; no caller of this process waits (also: leave the queue, undo an attempt)
 * - `r <ownerToken> <next> <ttlMs> <block> <deadlineMs>`: release; `next` is the next attempt of this process. `-` means
 *   any head of the queue that belongs to this process: it is granted at once. After the deadline the process gets nothing
 * - `n <ownerToken> <ttlMs> [=]`: renew; with `=` the lease may also become shorter
 *
 * `deadlineMs` is a time on the server's clock, after which the command gets nothing for its process; 0: none. With `+` the
 * counter may be incremented, because another command of this connection has just raised it to the clock. The sender checks
 * the number, which is small when the counter has been lost.
 *
 * Replies, three values for each command:
 * - `GRANTED, n, w`: n is the first of `block` fencing tokens, w processes wait
 * - `QUEUED, ms, h`: the current lease ends in ms (-1: unknown). h = 1: its holder is foreign, or a semaphore has the key, so
 *   no message announces its end. h is the owner token of the holder if it belongs to the calling process
 * - `STILL_QUEUED, ms, h`: as `QUEUED`, but the token was already queued
 * - `BUSY, ms, f`: for a command that does not wait; f as h, without the token
 * - `FREE, 0, 0`: released; no process waits
 * - `PASSED, 0, 0`: released and offered to another process
 * - `LOST, o, 0`: the token does not hold the lock; nothing else changed. o = 1: the key belongs to another owner
 * - `RENEWED, w, 0`: w processes wait
 * - `GRANTED_NEXT, n, t`: released and granted to owner token t of the same process; n is its first fencing token
 * - `REFUSED, e, 0`: e is the error of the server
 * - `DELEGATED, 0, 0`: readers hold the lock or wait for it; nothing changed: `runReadWrites` must run the command
 * - `TOO_LATE, c, 0`: the deadline has passed, nothing changed; c is the server's clock in ms
 *
 * @returns the replies in one flat list; or a number if each command had the common case: a free lock, or a release without
 * waiters. The number is the first fencing token; the commands use consecutive tokens in their order. It is 0 if no command
 * requests tokens
 */
export function runLocks(): number | Replies {
  const alone = KEYS.length === 3 ? runAlone(KEYS[1], KEYS[2], ARGV[0]) : undefined;
  return alone ?? runOtherLocks();
}

/** The entry of the script in Redis, where `runOtherLocks.lua` comes before it and does what `runAlone` does. */
function runOtherLocks(): number | Replies {
  setCounterKey(KEYS[0]);
  // Such a call verifies that the server runs the script.
  if (ARGV.length === 0) return [];
  const [ran, count] = runCommonCases();
  if (ran === ARGV.length) return issue(count);
  return KEYS.length === 3 ? runOne(KEYS[1], KEYS[2], ARGV[0]) : runAll(ran);
}

/**
 * A single command for a lock without waiters. The case is so common that it uses as few calls as possible.
 * @returns undefined in another case
 */
function runAlone(lock: string, queue: string, text: string): number | undefined {
  if (firstLetter(text) === 'd') {
    if (redis.call('EXISTS', queue) === 1 || redis.call('GET', lock) !== tokenOfRelease(text)) return undefined;
    redis.call('DEL', lock);
    return 0;
  }
  const [, token, ttlMs, blockText, deadlineMs, raised] = wordsOf(text);
  if (raised !== '+' || redis.call('EXISTS', queue) === 1 || isLate(deadlineMs)) return undefined;
  if (takeUnqueued(lock, token, ttlMs) !== true) return undefined;
  // An increment is cheaper than writing the clock. If the server rejects it, the clock is written; the lock is taken.
  const last = redis.pcall('INCRBY', KEYS[0], blockText);
  if (typeof last !== 'number' || last <= 0 || last >= FENCE_LIMIT) return undefined;
  return last - toNumber(blockText) + 1;
}

/** A single command, whose error is that of the call. */
function runOne(lock: string, queue: string, text: string): Reply {
  const reply = runExclusive(lock, queue, text);
  saveFence();
  return reply;
}

/** Runs a command; see `runLocks`. */
function runExclusive(lock: string, queue: string, text: string): Reply {
  const [name, token, first, second, third, fourth] = wordsOf(text);
  if (name === undefined) throw 'unknown command';
  if (name === 'a' || name === 'w') return acquire(lock, queue, token, first, second, third, name === 'w');
  if (name === 'n') return renew(lock, queue, token, first, second === '=');
  return release(lock, queue, token, first, second, third, fourth);
}

/** Issues all fencing tokens of a call at once, and returns the first; 0 if no command needs one. */
function issue(count: number): number {
  if (count === 0) return 0;
  const first = fencingTokens(count);
  saveFence();
  return first;
}

/**
 * Runs commands of the common case: each acquire finds a free lock, each release finds its own token, and no lock has
 * waiters. The loop ends at the first command of another case.
 * @returns how many commands have run, and how many fencing tokens they need
 */
function runCommonCases(): readonly [ran: number, count: number] {
  let taken: number;
  if (KEYS.length === 3) {
    // A release of the common case is complete: `runAlone` comes first.
    const name = firstLetter(ARGV[0]);
    if (name !== 'a' && name !== 'w') return [0, 0];
    taken = redis.call('EXISTS', KEYS[1], KEYS[2]);
  } else {
    // One command checks all queues.
    const queues: string[] = [];
    for (let i = 0; i < ARGV.length; i += 1) queues[i] = KEYS[2 * i + 2];
    taken = redis.call('EXISTS', ...queues);
  }
  if (taken > 0) return [0, 0];
  let count = 0;
  // Commands of one call usually have the same deadline.
  let timely = '';
  for (let i = 0; i < ARGV.length; i += 1) {
    const text = ARGV[i];
    const lock = KEYS[2 * i + 1];
    if (firstLetter(text) === 'd') {
      if (redis.pcall('GET', lock) !== tokenOfRelease(text)) return [i, count];
      redis.call('DEL', lock);
    } else {
      const [name, token, ttlMs, block, deadlineMs] = wordsOf(text);
      if (name !== 'a' && name !== 'w') return [i, count];
      if (deadlineMs !== timely && isLate(deadlineMs)) return [i, count];
      if (takeUnqueued(lock, token, ttlMs) !== true) return [i, count];
      timely = deadlineMs;
      count += toNumber(block);
    }
  }
  return [ARGV.length, count];
}

/** @param ran - how many commands have run already; their fencing tokens are not issued yet */
function runAll(ran: number): Replies {
  const replies: Replies = [];
  for (let i = 0; i < ARGV.length; i += 1) {
    let reply: Reply = [FREE, 0, 0];
    if (i >= ran) reply = safely(runExclusive, KEYS[2 * i + 1], KEYS[2 * i + 2], ARGV[i]);
    else if (firstLetter(ARGV[i]) !== 'd') reply = grantedReply(ARGV[i]);
    addReply(replies, i, reply);
  }
  saveFence();
  return replies;
}

/** The reply to an acquire that has run. */
function grantedReply(text: string): Reply {
  const [, , , block] = wordsOf(text);
  return [GRANTED, fencingTokens(toNumber(block)), 0];
}
