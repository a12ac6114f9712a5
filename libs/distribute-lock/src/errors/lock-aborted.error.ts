import { LockError, type LockErrorDetails } from './lock.error.js';

/** The caller's own signal ended the wait; `cause` is the signal's reason. @public */
export class LockAbortedError extends LockError {
  readonly code = 'LOCK_ABORTED';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}
