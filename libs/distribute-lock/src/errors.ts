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

/** Options or wiring are wrong; thrown at start-up wherever that is possible. @public */
export class LockConfigurationError extends LockError {
  readonly code = 'LOCK_CONFIGURATION';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}

/** What a {@link LockKeyError} carries. @public */
export interface LockKeyErrorDetails extends LockErrorDetails {
  /** Class and method, or the method of `LockService`. */
  readonly method: string;
  /** Where the unusable value came from: `request` answers 400 over HTTP, `code` 500. */
  readonly source: 'request' | 'code';
  /** The path that has no usable value, such as `body.channel`, where one hole of the template is to blame. */
  readonly path?: string;
}

/** The key is not usable, or cannot be made from the method's arguments. @public */
export class LockKeyError extends LockError {
  readonly code = 'LOCK_KEY';
  readonly method: string;
  readonly source: 'request' | 'code';
  /** The path in the template that has no usable value, such as `body.channel`. */
  readonly path: string | undefined;

  constructor(message: string, details: LockKeyErrorDetails) {
    super(message, details);
    this.method = details.method;
    this.source = details.source;
    this.path = details.path;
  }
}

/** What a {@link LockContendedError} carries. @public */
export interface LockContendedErrorDetails extends LockErrorDetails {
  /** A guess, in milliseconds, of when it is worth trying again. */
  readonly retryAfterMs: number;
}

/** Somebody else holds the lock, and the caller did not ask to wait. @public */
export class LockContendedError extends LockError {
  readonly code = 'LOCK_CONTENDED';
  readonly retryAfterMs: number;

  constructor(message: string, details: LockContendedErrorDetails) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** What a {@link LockWaitTimeoutError} carries. @public */
export interface LockWaitTimeoutErrorDetails extends LockErrorDetails {
  /** How long the caller waited, in milliseconds. */
  readonly waitedMs: number;
  /** A guess, in milliseconds, of when it is worth trying again. */
  readonly retryAfterMs: number;
}

/** The lock did not become free within `wait`. @public */
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

/** The caller's own signal ended the wait; `cause` is the signal's reason. @public */
export class LockAbortedError extends LockError {
  readonly code = 'LOCK_ABORTED';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}

/** How the nodes of a quorum voted. @public */
export interface LockVotes {
  /** Nodes of the quorum. */
  readonly nodes: number;
  /** More than half of them. */
  readonly needed: number;
  /** For the caller. */
  readonly granted: number;
  /** For somebody else. */
  readonly refused: number;
  /** Not at all: they failed, or did not answer in time. */
  readonly failed: number;
}

/** What a {@link LockUnavailableError} carries. @public */
export interface LockUnavailableErrorDetails extends LockErrorDetails {
  /** How the nodes voted, where locks live on a quorum. */
  readonly votes?: LockVotes | undefined;
  /** A guess, in milliseconds, of when it is worth trying again. */
  readonly retryAfterMs?: number;
  /** How many replicas acknowledged the grant in time, where option `durability` asks for more. */
  readonly replicas?: number | undefined;
}

/** Redis failed, refused or did not answer, or a limit of this process is reached; nobody is known to hold the lock. @public */
export class LockUnavailableError extends LockError {
  readonly code = 'LOCK_UNAVAILABLE';
  readonly retryAfterMs: number;
  /** How the nodes voted, where locks live on a quorum. */
  readonly votes: LockVotes | undefined;
  /** How many replicas acknowledged the grant in time, where option `durability` asks for more. */
  readonly replicas: number | undefined;

  constructor(message: string, details: LockUnavailableErrorDetails = {}) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs ?? 1000;
    this.votes = details.votes;
    this.replicas = details.replicas;
  }
}

/** The application is stopping, so no new lock is given out and nobody is kept waiting. @public */
export class LockShutdownError extends LockError {
  readonly code = 'LOCK_SHUTDOWN';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}

/** The lock is used in a way that can never work, such as a nested acquire of one's own key. @public */
export class LockUsageError extends LockError {
  readonly code = 'LOCK_USAGE';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
  }
}

/**
 * Why a lease was lost.
 *
 * - `'blocked'`: the event loop was blocked, or the process stopped, until the lease could no longer be renewed in time
 * - `'expired'`: the `ttl` ran out, and `renew` is false
 * - `'maxHold'`: `maxHold` ran out
 * - `'outage'`: Redis did not confirm a renewal within the `ttl`
 * - `'deleted'`: the key no longer exists in Redis: it was deleted, or Redis lost its data
 * - `'taken'`: the key in Redis belongs to another owner
 * - `'forced'`: `LockService.forceRelease` took the lock away
 * - `'shutdown'`: the application has shut down while the work ran, so the lease was not renewed any more
 * - `'released'`: the holder itself released it before it called a method that needs a held lease
 * @public
 */
export type LeaseLossReason =
  'blocked' | 'expired' | 'maxHold' | 'outage' | 'deleted' | 'taken' | 'forced' | 'shutdown' | 'released';

/** What a {@link LeaseLostError} carries. @public */
export interface LeaseLostErrorDetails extends LockErrorDetails {
  /** The fencing token of the lease that was lost. */
  readonly fencingToken: number;
  /** Why it was lost. */
  readonly reason: LeaseLossReason;
}

/**
 * The lease ended while work ran; it is also `lease.signal.reason`.
 *
 * Another process may hold the lock now: stop, or let the protected resource reject the fencing token.
 * @public
 */
export class LeaseLostError extends LockError {
  readonly code = 'LEASE_LOST';
  readonly fencingToken: number;
  /** Why it was lost. */
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
