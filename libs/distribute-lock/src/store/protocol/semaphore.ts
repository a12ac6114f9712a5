import { BUSY, FREE, GRANTED, GRANTED_NEXT, LOST, QUEUED, RENEWED, TOO_LATE } from './reply-codes.js';
import { isLate, nowMs } from './clock.js';
import type { LockCommand } from './command.js';
import { fencingTokens } from './fencing-tokens.js';
import type { Reply } from './reply.js';
import { enqueue, extendPlaces, left, others, serve } from './semaphore-queue.js';
import { freeIfEnded, give, headOf, leasesOf, leaveQueue, raise, takeBack, type Semaphore } from './semaphore-state.js';
import { redis } from './server.js';
import { toNumber } from './host.js';

/** The caller waits in the queue of the semaphore, and no message announces that the key is free. */
const OTHER_KIND = 2;

/** Acquires permits, or waits. */
export function acquirePermits(state: Semaphore, command: LockCommand): Reply {
  const { token, ttlMs, block } = command;
  const waits = command.name === 'w';
  if (isLate(command.deadlineMs)) return [TOO_LATE, nowMs(), 0];
  const ends = leasesOf(state);
  freeIfEnded(state);
  // The value of a foreign client may look like that of a semaphore, so a key without valid leases counts as foreign.
  if (state.isStored && state.used === 0) return waitForKey(state, token, waits);
  state.unsettled = true;
  if (ends[token] !== undefined) {
    leaveQueue(state, token);
    raise(state, token, ttlMs);
    serve(state);
    return [GRANTED, fencingTokens(block), others(state, token)];
  }
  if (headOf(state) !== false && redis.call('ZSCORE', state.queue, token) !== false) extendPlaces(state, token);
  const { self, stopped } = serve(state, token, ttlMs);
  if (self) return [GRANTED, fencingTokens(block), others(state, token)];
  if (!waits) return [BUSY, left(state, token, stopped), 0];
  const queued = enqueue(state, token);
  return [QUEUED, left(state, token, stopped), queued];
}

/** The reply while a lock of another kind or a foreign client has the key. */
function waitForKey(state: Semaphore, token: string, waits: boolean): Reply {
  const leftMs = redis.call('PTTL', state.lock);
  if (!waits) return [BUSY, leftMs, 1];
  enqueue(state, token);
  return [QUEUED, leftMs, OTHER_KIND];
}

/**
 * Releases the permits, removes the token from the queue, or undoes an attempt. While permits are in use, each case then
 * serves the queue.
 */
export function releasePermits(state: Semaphore, { token, next, ttlMs, block, deadlineMs }: LockCommand): Reply {
  const wanted = next === '' || isLate(deadlineMs) ? undefined : next;
  const ends = leasesOf(state);
  const inUse = state.used > 0;
  const holds = ends[token] !== undefined;
  state.unsettled = state.unsettled || inUse;
  if (holds) takeBack(state, token);
  else leaveQueue(state, token);
  if (!inUse) return [LOST, 0, 0];
  if (!holds || wanted === undefined) {
    serve(state);
    return [holds ? FREE : LOST, 0, 0];
  }
  // `next` may have an offer of which its process does not know.
  const isOffered = ends[wanted] !== undefined;
  if (isOffered) raise(state, wanted, ttlMs);
  else enqueue(state, wanted);
  const { self, stopped } = serve(state, isOffered ? undefined : wanted, ttlMs);
  if (self || isOffered) return [GRANTED_NEXT, fencingTokens(block), others(state, wanted)];
  return [QUEUED, left(state, wanted, stopped), 0];
}

/**
 * Extends a lease; shortens it only if the command says so. Reads the other leases only if this one may have been the last
 * to end.
 */
export function renewPermits(state: Semaphore, { token, ttlMs, exact }: LockCommand): Reply {
  const score = state.limit === undefined ? false : redis.call('ZSCORE', state.held, token);
  const presentEnd = score === false ? 0 : toNumber(score);
  if (presentEnd <= nowMs()) return [LOST, 0, 0];
  const endsAt = nowMs() + ttlMs;
  if (exact && endsAt < presentEnd) {
    // `raise` compares with the known end, so 0 lets it shorten the lease. A full server accepts its first write.
    leasesOf(state)[token] = 0;
    raise(state, token, ttlMs);
  } else if (endsAt > presentEnd) {
    if (state.ends !== undefined) state.ends[token] = endsAt;
    // A full server accepts this first write and all later writes.
    redis.call('PEXPIREAT', state.lock, endsAt, 'GT');
    redis.call('PEXPIREAT', state.held, endsAt, 'GT');
    redis.call('ZADD', state.held, endsAt, token);
  }
  return [RENEWED, others(state, token), 0];
}

/**
 * Replaces the owner token of a holder. The lease continues with the new token, for `ttlMs`, with a larger fencing token. The
 * permits stay in use.
 */
export function movePermits(state: Semaphore, { token, ttlMs, to, deadlineMs }: LockCommand): Reply {
  if (isLate(deadlineMs)) return [TOO_LATE, nowMs(), 0];
  const ends = leasesOf(state);
  const isRepeated = ends[to] !== undefined;
  if (!isRepeated && ends[token] === undefined) return [LOST, 0, 0];
  state.unsettled = true;
  if (isRepeated) raise(state, to, ttlMs);
  else {
    takeBack(state, token);
    give(state, to, nowMs() + ttlMs);
  }
  return [GRANTED, fencingTokens(1), others(state, to)];
}
