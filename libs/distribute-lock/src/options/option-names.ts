import { LockConfigurationError } from '../errors/lock-configuration.error.js';
import type { AcquireOptions, LockOptions } from './lock-options.js';
import { shown } from './shown.js';

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

/** Every option of a call. */
export const CALL_OPTION_NAMES: Readonly<Record<keyof AcquireOptions, true>> = {
  ...LOCK_OPTION_NAMES,
  name: true,
  signal: true,
};

/** @throws LockConfigurationError when an option is not one of `known`: it was mistyped, and would be ignored */
export function checkNames(given: object, known: object, parent = ''): void {
  if (typeof given !== 'object' || given === null) {
    throw new LockConfigurationError(`The options are ${shown(given)}, but they must be an object.`);
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue;
    throw new LockConfigurationError(
      `Option "${parent}${name}" is not known. Known are ${Object.keys(known).join(', ')}.`,
    );
  }
}
