import { LockError, type LockErrorDetails } from './lock.error.js';

/** The application is stopping, so no new lock is given out and nobody is kept waiting. @public */
export class LockShutdownError extends LockError {
  readonly code = 'LOCK_SHUTDOWN';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}
