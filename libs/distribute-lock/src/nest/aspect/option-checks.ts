import { inspect } from 'node:util';

import { LockConfigurationError } from '../../errors.js';

/** @throws LockConfigurationError when `status` cannot say that a lock is taken */
export function checkContendedStatus(status: unknown): void {
  if (
    status === undefined ||
    (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 499)
  ) {
    return;
  }
  throw new LockConfigurationError(
    `Option "contendedStatus" is ${inspect(status)}, but it must be a whole number from 400 to 499.`,
  );
}
