import { inspect } from 'node:util';

import { LockConfigurationError } from '../errors/lock-configuration.error.js';
import type { LockOptions } from '../options/lock-options.js';

/** Every option that a lock has wherever it is taken. */
export const LOCK_OPTION_NAMES: Readonly<Record<keyof LockOptions, true>> = {
  ttl: true,
  wait: true,
  renew: true,
  maxHold: true,
  minHold: true,
  fair: true,
  reentrant: true,
  kind: true,
  permits: true,
  weight: true,
  release: true,
  onLost: true,
};

/** @throws LockConfigurationError when an option is not one of `known`: it was mistyped, and would be ignored */
export function checkNames(given: object, known: object, parent = ''): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue;
    throw new LockConfigurationError(
      `Option "${parent}${name}" is not known. Known are ${Object.keys(known).join(', ')}.`,
    );
  }
}

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
