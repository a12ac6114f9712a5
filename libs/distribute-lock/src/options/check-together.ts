import { LockConfigurationError } from '../errors/lock-configuration.error.js';
import type { ResolvedLockOptions } from './lock-options.js';

/** @throws LockConfigurationError when options, each of them right, contradict each other */
export function checkTogether(options: ResolvedLockOptions): void {
  checkTimes(options);
  checkPermits(options);
}

function checkTimes({ ttlMs, renew, maxHoldMs, minHoldMs }: ResolvedLockOptions): void {
  if (minHoldMs > maxHoldMs) {
    throw new LockConfigurationError(`Option "minHold" (${minHoldMs} ms) is above "maxHold" (${maxHoldMs} ms).`);
  }
  if (!renew && minHoldMs > ttlMs) {
    throw new LockConfigurationError(
      `Option "minHold" (${minHoldMs} ms) is above "ttl" (${ttlMs} ms), which is the hard end with "renew: false".`,
    );
  }
}

function checkPermits({ kind, permits, weight }: ResolvedLockOptions): void {
  if (kind !== 'semaphore') {
    if (permits === 0 && weight === 1) return;
    throw new LockConfigurationError('Options "permits" and "weight" belong to "kind: semaphore".');
  }
  if (permits === 0) {
    throw new LockConfigurationError(
      'Option "permits" is missing: a semaphore must say how many permits it has in all.',
    );
  }
  if (weight > permits) {
    throw new LockConfigurationError(`Option "weight" (${weight}) is above "permits" (${permits}).`);
  }
}
