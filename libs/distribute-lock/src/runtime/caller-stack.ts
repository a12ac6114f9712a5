import { isLockError } from '../errors.js';

/**
 * Rejects with the error, whose stack then begins at the code that awaits the call; for `then`, and as the result of an async function.
 * The engine creates errors when Redis has answered, so their own stack contains only frames of this package. The runtime finds the
 * awaiting code through the promises, so a call without an error costs nothing.
 */
export async function rejectToCaller(error: unknown): Promise<never> {
  // The runtime connects this promise to that of the call in the second microtask.
  await Promise.resolve();
  await Promise.resolve();
  if (isLockError(error)) Error.captureStackTrace(error, rejectToCaller);
  throw error;
}
