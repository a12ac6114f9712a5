/** Identifies the reason of a {@link LockError}. Branch on it: unlike a class, it also works with two copies of the package. @public */
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

/** Details that every lock error may carry. @public */
export interface LockErrorDetails {
  /** The rendered key. Messages, JSON and `inspect` never contain it. */
  readonly key?: string;
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/**
 * Base class of all errors that this package throws.
 *
 * The message names the call (class and method, or option `name`), the numbers and what to do next.
 * Only the non-enumerable property `key` holds the rendered key, so logs and responses do not expose it.
 * @public
 */
export abstract class LockError extends Error {
  /** The reason; stable across versions and copies of the package. */
  abstract readonly code: LockErrorCode;
  /** The rendered key, if there is one; not enumerable. */
  declare readonly key: string | undefined;

  protected constructor(message: string, details: LockErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    Object.defineProperty(this, 'name', { enumerable: false });
    Object.defineProperty(this, 'key', { value: details.key, enumerable: false });
  }
}

/** Options or wiring are invalid; thrown at start-up where possible. @public */
export class LockConfigurationError extends LockError {
  readonly code = 'LOCK_CONFIGURATION';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}

/** Details of a {@link LockKeyError}. @public */
export interface LockKeyErrorDetails extends LockErrorDetails {
  /** Class and method, or the method of `LockService`. */
  readonly method: string;
  /** The origin of the invalid value: over HTTP, `request` leads to status 400 and `code` to 500. */
  readonly source: 'request' | 'code';
  /** The path without a usable value, such as `body.channel`, if one placeholder of the template failed. */
  readonly path?: string;
}

/** The key is invalid, or the arguments of the method do not produce one. @public */
export class LockKeyError extends LockError {
  readonly code = 'LOCK_KEY';
  readonly method: string;
  readonly source: 'request' | 'code';
  /** The path in the template without a usable value, such as `body.channel`. */
  readonly path: string | undefined;

  constructor(message: string, details: LockKeyErrorDetails) {
    super(message, details);
    this.method = details.method;
    this.source = details.source;
    this.path = details.path;
  }
}

/** Details of a {@link LockContendedError}. @public */
export interface LockContendedErrorDetails extends LockErrorDetails {
  /** Estimated milliseconds until a retry may succeed. */
  readonly retryAfterMs: number;
}

/** Another caller holds the lock, and `wait` is 0. @public */
export class LockContendedError extends LockError {
  readonly code = 'LOCK_CONTENDED';
  readonly retryAfterMs: number;

  constructor(message: string, details: LockContendedErrorDetails) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Details of a {@link LockWaitTimeoutError}. @public */
export interface LockWaitTimeoutErrorDetails extends LockErrorDetails {
  /** How long the caller waited, in milliseconds. */
  readonly waitedMs: number;
  /** Estimated milliseconds until a retry may succeed. */
  readonly retryAfterMs: number;
}

/** The caller did not get the lock within `wait`. @public */
export class LockWaitTimeoutError extends LockError {
  readonly code = 'LOCK_WAIT_TIMEOUT';
  readonly waitedMs: number;
  readonly retryAfterMs: number;

  constructor(message: string, details: LockWaitTimeoutErrorDetails) {
    super(message, details);
    this.waitedMs = details.waitedMs;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** The signal of the caller, or the disconnect of its client, ended the wait; `cause` is the reason. @public */
export class LockAbortedError extends LockError {
  readonly code = 'LOCK_ABORTED';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}

/** Votes of the nodes of a quorum. @public */
export interface LockVotes {
  /** Number of nodes in the quorum. */
  readonly nodes: number;
  /** Required grants: more than half of the nodes. */
  readonly needed: number;
  /** Nodes that granted the lock. */
  readonly granted: number;
  /** Nodes that refused it. */
  readonly refused: number;
  /** Nodes that failed or did not respond in time. */
  readonly failed: number;
}

/** Details of a {@link LockUnavailableError}. @public */
export interface LockUnavailableErrorDetails extends LockErrorDetails {
  /** Votes of the nodes, if the connection is a quorum. */
  readonly votes?: LockVotes | undefined;
  /** Estimated milliseconds until a retry may succeed. */
  readonly retryAfterMs?: number;
  /** Number of replicas that acknowledged the grant in time, if option `durability` requires more. */
  readonly replicas?: number | undefined;
}

/**
 * Redis failed, refused or did not respond, or a limit of this process is reached. The error does not say that another caller holds
 * the lock.
 * @public
 */
export class LockUnavailableError extends LockError {
  readonly code = 'LOCK_UNAVAILABLE';
  readonly retryAfterMs: number;
  /** Votes of the nodes, if the connection is a quorum. */
  declare readonly votes: LockVotes | undefined;
  /** Number of replicas that acknowledged the grant in time, if option `durability` requires more. */
  declare readonly replicas: number | undefined;

  constructor(message: string, details: LockUnavailableErrorDetails = {}) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs ?? 1000;
    // A log prints all own properties, also without a value.
    if (details.votes !== undefined) this.votes = details.votes;
    if (details.replicas !== undefined) this.replicas = details.replicas;
  }
}

/** The application is stopping: it acquires no new locks, and waiting callers are rejected. @public */
export class LockShutdownError extends LockError {
  readonly code = 'LOCK_SHUTDOWN';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}

/** The lock is used in a way that can never work, such as a nested acquire of a key that the caller holds. @public */
export class LockUsageError extends LockError {
  readonly code = 'LOCK_USAGE';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}

/**
 * The reason for the loss of a lease.
 *
 * - `'blocked'`: the event loop was blocked, or the process was suspended, until it was too late to renew the lease
 * - `'expired'`: `ttl` passed, and `renew` is false. Of a ticket: the `ttl` of `detach()` passed, or the ticket was never issued
 * - `'maxHold'`: `maxHold` passed
 * - `'outage'`: Redis did not confirm a renewal within the `ttl`, or a hand-over in time. Also: Redis rejected a downgrade, but may still
 *   execute an earlier attempt that had no reply
 * - `'deleted'`: the key no longer exists in Redis: it was deleted, or Redis lost its data
 * - `'taken'`: another owner holds the key in Redis
 * - `'forced'`: `LockService.forceRelease` or `LockService.steal` ended the lease
 * - `'shutdown'`: the application shut down while the work ran, so the lease was no longer renewed
 * - `'released'`: the holder released or detached the lease before it called a method that needs a held lease. Of a ticket: its lease
 *   was released
 * - `'used'`: the ticket of `attach()` was used before
 * - `'forgotten'`: the lease of `acquire()` was garbage-collected before its release
 * @public
 */
export type LeaseLossReason =
  | 'blocked'
  | 'expired'
  | 'maxHold'
  | 'outage'
  | 'deleted'
  | 'taken'
  | 'forced'
  | 'shutdown'
  | 'released'
  | 'used'
  | 'forgotten';

/** Details of a {@link LeaseLostError}. @public */
export interface LeaseLostErrorDetails extends LockErrorDetails {
  /** The fencing token of the lost lease. */
  readonly fencingToken: number;
  /** The reason for the loss. */
  readonly reason: LeaseLossReason;
}

/**
 * The lease ended while the work ran. After a loss, this error is also `lease.signal.reason`.
 *
 * Another process may hold the lock now: stop the work, or let the protected resource reject the fencing token.
 * @public
 */
export class LeaseLostError extends LockError {
  readonly code = 'LEASE_LOST';
  readonly fencingToken: number;
  /** The reason for the loss. */
  readonly reason: LeaseLossReason;

  constructor(message: string, details: LeaseLostErrorDetails) {
    super(message, details);
    this.fencingToken = details.fencingToken;
    this.reason = details.reason;
  }
}

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

/** Any error of this package, discriminated by `code`. @public */
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

/** All error codes. */
export const LOCK_ERROR_CODES = Object.keys(CODES) as readonly LockErrorCode[];

/**
 * Returns whether an error comes from this package and, if codes are given, whether it has one of them.
 *
 * It compares `code`, not the class, so it also recognises errors of another copy of the package.
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
