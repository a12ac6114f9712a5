import { LockError, type LockErrorDetails } from './lock.error.js';

/** The lock is used in a way that can never work, such as a nested acquire of one's own key. @public */
export class LockUsageError extends LockError {
  readonly code = 'LOCK_USAGE';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}
