import { restMs } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import type { LifetimePlan } from './lease/lifetime-plan.js';

/**
 * While another process waits, this process keeps the lock for at most this many holds, or this time from the beginning of the first
 * one. The time until the store has answered does not count: far from Redis it can be longer.
 */
export const QUANTUM_HOLDS = 32;
export const QUANTUM_MS = 25;

/** So many `passes` of a grant forbid another local hand-over: an operator ends its present hold, and no later one. */
export const LAST = Infinity;

/** The most fencing tokens to reserve for waiters; more tokens could outrun the clock from which they start. */
export const LARGEST_BLOCK = 64;

/**
 * Whether a local hand-over from `lease` to the next caller is allowed. The next holder must survive a pause as well as the first one. Compares
 * with the clock, because after a pause the timer that reports the loss may not have fired yet.
 * @param inTurns - whether another process waits, or may wait, and must get its turn
 */
export function mayHandOver(
  { grant, startedAt }: Pick<LeaseHandle, 'grant' | 'startedAt'>,
  next: LifetimePlan,
  now: number,
  inTurns: boolean,
): boolean {
  const needsMs = next.needsWholeTtl ? next.ttlMs : restMs(next.ttlMs);
  if (grant.ended || grant.passes === LAST || grant.block.left === 0 || grant.validUntil - now < needsMs) return false;
  // The ttl must be exactly what the next caller wants: after a crash of the caller, the key stays locked for that time.
  if (next.ttlMs !== grant.ttlMs) return false;
  return !inTurns || (grant.passes < QUANTUM_HOLDS && now - (grant.turnFrom ?? startedAt) < QUANTUM_MS);
}
