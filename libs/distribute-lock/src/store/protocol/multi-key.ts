import { BUSY, GRANTED, TOO_LATE } from '../lua/generated/reply-codes.js';
import { isLate, nowMs } from './clock.js';
import { fenceNumber, fencingTokens, raiseTo, refuseFence, saveFence } from './fencing-tokens.js';
import { setCounterKey } from './counter-key.js';
import { addReply, type Replies, type Reply } from './reply.js';
import { ARGV, KEYS, redis } from './server.js';
import { fenceMs } from './settings.js';
import { assignTo } from './take.js';
import { allWords, digits, safely, toNumber } from './host.js';

/** Acquires several exclusive locks for one caller: all of them or none. */
export function runMultiKey(): Replies {
  setCounterKey(KEYS[0]);
  const replies: Replies = [];
  let first = 1;
  for (let i = 0; i < ARGV.length; i += 1) {
    const tokens = allWords(ARGV[i]);
    const ttlMs = tokens.shift()!;
    const deadlineMs = tokens.shift()!;
    const reply = safely(takeAll, first, tokens, toNumber(ttlMs), deadlineMs);
    first += stride() * tokens.length;
    addReply(replies, i, reply);
  }
  saveFence();
  return replies;
}

/** Number of keys of one lock; in a Cluster each lock has a counter. */
const stride = (): number => (fenceMs === undefined ? 2 : 3);

function takeAll(first: number, tokens: readonly string[], ttlMs: number, deadlineMs: string): Reply {
  if (isLate(deadlineMs)) return [TOO_LATE, nowMs(), 0];
  for (let i = 0; i < tokens.length; i += 1) {
    const at = first + stride() * i;
    if (!isFree(KEYS[at], KEYS[at + 1], tokens[i])) {
      return [BUSY, Math.max(redis.call('PTTL', KEYS[at]), -1), 0];
    }
  }
  for (let i = 0; i < tokens.length; i += 1) {
    const lock = KEYS[first + stride() * i];
    if (redis.call('PTTL', lock) < ttlMs) assignTo(lock, tokens[i], ttlMs);
  }
  return [GRANTED, numbersFor(first, tokens.length), 0];
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
function numbersFor(first: number, count: number): number {
  let number = fencingTokens(count);
  if (fenceMs === undefined) return number;
  for (let i = 1; i < count; i += 1) {
    const key = KEYS[first + 3 * i + 2];
    const last = fenceNumber(redis.call('GET', key));
    if (last === undefined) refuseFence(key);
    number = Math.max(number, last + 1 - i);
  }
  for (let i = 1; i < count; i += 1) redis.call('SET', KEYS[first + 3 * i + 2], digits(number + i), 'PX', fenceMs);
  raiseTo(number);
  return number;
}
