import type { LeaseLostError } from './lease-lost.error.js';
import type { LockAbortedError } from './lock-aborted.error.js';
import type { LockConfigurationError } from './lock-configuration.error.js';
import type { LockContendedError } from './lock-contended.error.js';
import type { LockKeyError } from './lock-key.error.js';
import type { LockShutdownError } from './lock-shutdown.error.js';
import type { LockUnavailableError } from './lock-unavailable.error.js';
import type { LockUsageError } from './lock-usage.error.js';
import type { LockWaitTimeoutError } from './lock-wait-timeout.error.js';
import type { LockErrorCode } from './lock.error.js';

/** The class behind each code. @public */
export interface LockErrorOfCode {
  LOCK_CONFIGURATION: LockConfigurationError;
  LOCK_KEY: LockKeyError;
  LOCK_CONTENDED: LockContendedError;
  LOCK_WAIT_TIMEOUT: LockWaitTimeoutError;
  LOCK_ABORTED: LockAbortedError;
  LOCK_UNAVAILABLE: LockUnavailableError;
  LOCK_SHUTDOWN: LockShutdownError;
  LOCK_USAGE: LockUsageError;
  LEASE_LOST: LeaseLostError;
}

/** Any error of this package, told apart by `code`. @public */
export type AnyLockError = LockErrorOfCode[LockErrorCode];

const CODES: Readonly<Record<LockErrorCode, true>> = {
  LOCK_CONFIGURATION: true,
  LOCK_KEY: true,
  LOCK_CONTENDED: true,
  LOCK_WAIT_TIMEOUT: true,
  LOCK_ABORTED: true,
  LOCK_UNAVAILABLE: true,
  LOCK_SHUTDOWN: true,
  LOCK_USAGE: true,
  LEASE_LOST: true,
};

/** Every code there is. */
export const LOCK_ERROR_CODES = Object.keys(CODES) as readonly LockErrorCode[];

/**
 * Tells whether an error came from this package and, if codes are given, whether it is one of them.
 *
 * It looks at `code`, not at the class, so two copies of the package in one process understand each other.
 *
 * @example
 * ```ts
 * try {
 *   await locks.withLock('report', work);
 * } catch (error) {
 *   if (isLockError(error, 'LOCK_CONTENDED')) return;
 *   throw error;
 * }
 * ```
 * @public
 */
export function isLockError<Code extends LockErrorCode = LockErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is LockErrorOfCode[Code] {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return Object.hasOwn(CODES, error.code) && (codes.length === 0 || codes.includes(error.code as Code));
}
