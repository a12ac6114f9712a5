/** What a {@link LockError} is about; callers branch on it, because it survives two copies of the package. @public */
export type LockErrorCode =
  | 'LOCK_CONFIGURATION'
  | 'LOCK_KEY'
  | 'LOCK_CONTENDED'
  | 'LOCK_WAIT_TIMEOUT'
  | 'LOCK_ABORTED'
  | 'LOCK_UNAVAILABLE'
  | 'LOCK_SHUTDOWN'
  | 'LOCK_USAGE'
  | 'LEASE_LOST';

/** What every lock error may carry besides its message. @public */
export interface LockErrorDetails {
  /** The rendered key. It stays out of messages, JSON and `inspect`. */
  readonly key?: string;
  /** The error underneath. */
  readonly cause?: unknown;
}

/**
 * Root of all errors that this package throws.
 *
 * The message names the call (class and method, or option `name`), the numbers and what to do next.
 * The rendered key is only in the non-enumerable property `key`, so that it does not leak into logs and responses.
 * @public
 */
export abstract class LockError extends Error {
  /** What happened, stable across versions and copies of the package. */
  abstract readonly code: LockErrorCode;
  /** The rendered key, where there is one; not enumerable. */
  declare readonly key: string | undefined;

  protected constructor(message: string, details: LockErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    Object.defineProperty(this, 'name', { enumerable: false });
    Object.defineProperty(this, 'key', { value: details.key, enumerable: false });
  }
}
