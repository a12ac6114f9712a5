import { LockError, type LockErrorDetails } from './lock.error.js';

/** What a {@link LeaseLostError} carries. @public */
export interface LeaseLostErrorDetails extends LockErrorDetails {
  /** The fencing token of the lease that was lost. */
  readonly fencingToken: number;
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

  constructor(message: string, details: LeaseLostErrorDetails) {
    super(message, details);
    this.fencingToken = details.fencingToken;
  }
}
