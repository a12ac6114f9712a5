import { LockError, type LockErrorDetails } from './lock.error.js';

/** What a {@link LockUnavailableError} carries. @public */
export interface LockUnavailableErrorDetails extends LockErrorDetails {
  /** A guess, in milliseconds, of when it is worth trying again. */
  readonly retryAfterMs?: number;
}

/** Redis failed, refused or did not answer, or a limit of this process is reached; nobody is known to hold the lock. @public */
export class LockUnavailableError extends LockError {
  readonly code = 'LOCK_UNAVAILABLE';
  readonly retryAfterMs: number;

  constructor(message: string, details: LockUnavailableErrorDetails = {}) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs ?? 1000;
  }
}
