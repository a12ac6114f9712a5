import { LockError, type LockErrorDetails } from './lock.error.js';

/** What a {@link LockContendedError} carries. @public */
export interface LockContendedErrorDetails extends LockErrorDetails {
  /** A guess, in milliseconds, of when it is worth trying again. */
  readonly retryAfterMs: number;
}

/** Somebody else holds the lock, and the caller did not ask to wait. @public */
export class LockContendedError extends LockError {
  readonly code = 'LOCK_CONTENDED';
  readonly retryAfterMs: number;

  constructor(message: string, details: LockContendedErrorDetails) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs;
  }
}
