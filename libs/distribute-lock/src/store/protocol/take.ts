import { GRANTED } from './reply-codes.js';
import { fencingTokens } from './fencing-tokens.js';
import { redis, type Fault } from './server.js';
import type { Reply } from './reply.js';
import { toNumber } from './host.js';

/**
 * Takes a lock without a queue; the server checks whether it is free.
 * @returns whether it was; or the error of a server that rejects the write: then nothing has changed
 */
export function takeUnqueued(lock: string, token: string, ttlMs: number | string): boolean | Fault {
  const set = redis.pcall('SET', lock, token, 'NX', 'PX', ttlMs);
  if (set === false) return false;
  return 'err' in set ? set : true;
}

/** Makes the token the holder without a check: the caller has decided that it may. */
export function assignTo(lock: string, token: string, ttlMs: number | string): void {
  redis.call('SET', lock, token, 'PX', ttlMs);
}

/** Extends a lease, never shortens it. */
export function raiseExpiry(lock: string, ttlMs: number | string): void {
  if (redis.call('PTTL', lock) < toNumber(ttlMs)) redis.call('PEXPIRE', lock, ttlMs);
}

/** Claims a lock that already holds the token: it was offered, or the command is a repetition. */
export function claim(lock: string, queue: string, token: string, ttlMs: number | string, block: number): Reply {
  raiseExpiry(lock, ttlMs);
  redis.call('ZREM', queue, token);
  return [GRANTED, fencingTokens(block), redis.call('ZCARD', queue)];
}
