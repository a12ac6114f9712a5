import { LockError, type LockErrorDetails } from './lock.error.js';

/** Options or wiring are wrong; thrown at start-up wherever that is possible. @public */
export class LockConfigurationError extends LockError {
  readonly code = 'LOCK_CONFIGURATION';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}
