import { isLockError, type LockKeyError } from '../../libs/distribute-lock/src/errors.js';

/** The error with which `work` refuses a key. Fails the test when `work` does not refuse it. */
export function refusedKey(work: () => unknown): LockKeyError {
  try {
    work();
  } catch (error) {
    if (isLockError(error, 'LOCK_KEY')) return error;
    throw error;
  }
  throw new Error('not refused');
}
