import { LockError, type LockErrorDetails } from './lock.error.js';

/**
 * Why a lease was lost.
 *
 * - `'blocked'`: the event loop was blocked, or the process stopped, until the lease could no longer be renewed in time
 * - `'expired'`: the `ttl` ran out, and `renew` is false
 * - `'maxHold'`: `maxHold` ran out
 * - `'outage'`: Redis did not confirm a renewal within the `ttl`
 * - `'deleted'`: the key no longer exists in Redis: it was deleted, or Redis lost its data
 * - `'taken'`: the key in Redis belongs to another owner
 * - `'forced'`: `LockService.forceRelease` took the lock away
 * - `'shutdown'`: the application has shut down while the work ran, so the lease was not renewed any more
 * - `'released'`: the holder itself released it before it called a method that needs a held lease
 * @public
 */
export type LeaseLossReason =
  'blocked' | 'expired' | 'maxHold' | 'outage' | 'deleted' | 'taken' | 'forced' | 'shutdown' | 'released';

/** What a {@link LeaseLostError} carries. @public */
export interface LeaseLostErrorDetails extends LockErrorDetails {
  /** The fencing token of the lease that was lost. */
  readonly fencingToken: number;
  /** Why it was lost. */
  readonly reason: LeaseLossReason;
}

/**
 * The lease ended while work ran; it is also `lease.signal.reason`.
 *
 * Another process may hold the lock now: stop, or let the protected resource reject the fencing token.
 * @public
 */
export class LeaseLostError extends LockError {
  readonly code = 'LEASE_LOST';
  readonly fencingToken: number;
  /** Why it was lost. */
  readonly reason: LeaseLossReason;

  constructor(message: string, details: LeaseLostErrorDetails) {
    super(message, details);
    this.fencingToken = details.fencingToken;
    this.reason = details.reason;
  }
}
