import { LockError, type LockErrorDetails } from './lock.error.js';

/** What a {@link LockWaitTimeoutError} carries. @public */
export interface LockWaitTimeoutErrorDetails extends LockErrorDetails {
  /** How long the caller waited, in milliseconds. */
  readonly waitedMs: number;
  /** A guess, in milliseconds, of when it is worth trying again. */
  readonly retryAfterMs: number;
}

/** The lock did not become free within `wait`. @public */
export class LockWaitTimeoutError extends LockError {
  readonly code = 'LOCK_WAIT_TIMEOUT';
  readonly waitedMs: number;
  readonly retryAfterMs: number;

  constructor(message: string, details: LockWaitTimeoutErrorDetails) {
    super(message, details);
    this.waitedMs = details.waitedMs;
    this.retryAfterMs = details.retryAfterMs;
  }
}
