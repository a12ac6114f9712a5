import type { Grant } from '../lease/grant.js';
import type { ResolvedLockOptions } from '../options/lock-options.js';

/** While another process waits, this process keeps the lock for at most so many holds, or so long. */
export const QUANTUM_HOLDS = 16;
export const QUANTUM_MS = 25;

/** Fencing tokens are reserved for the callers that wait here, but never so many that numbers outrun the clock they start from. */
export const MOST_NUMBERS = 64;

/** What must be left of a lease that the store has yet to confirm: time for a question without an answer, and for another one. */
export const CONFIRMED_WITHIN_MS = 1_000;

/** A lease that is not confirmed yet will be, whatever happens at first. */
export const isConfirmed = (options: ResolvedLockOptions): boolean =>
  endsByRenewal(options) && options.maxHoldMs > CONFIRMED_WITHIN_MS;

/** What ends by its ttl must have all of it. */
const endsByRenewal = ({ renew, release }: ResolvedLockOptions): boolean => renew && release === 'end';

/**
 * Whether the next caller of this process may have the grant without a command. The clock is compared at this very
 * moment: after a pause the timer that tells of the loss may not have run yet.
 */
export function mayPass(grant: Grant, next: ResolvedLockOptions, now: number, inOrder = false): boolean {
  const halfMs = grant.unconfirmed && isConfirmed(next) ? CONFIRMED_WITHIN_MS : next.ttlMs / 2;
  const needsMs = endsByRenewal(next) ? halfMs : next.ttlMs;
  if (grant.ended || grant.numbers.left === 0 || grant.validUntil - now < needsMs) return false;
  // Neither shorter than the caller asked for nor longer: that is for how long its crash would keep others out.
  if (next.ttlMs !== grant.ttlMs) return false;
  return !grant.contended || inOrder || (grant.passes < QUANTUM_HOLDS && now - grant.startedAt < QUANTUM_MS);
}
