import { LockAbortedError } from '../errors/lock-aborted.error.js';
import { LockContendedError } from '../errors/lock-contended.error.js';
import { LockKeyError } from '../errors/lock-key.error.js';
import { LockShutdownError } from '../errors/lock-shutdown.error.js';
import { LockUnavailableError } from '../errors/lock-unavailable.error.js';
import { LockWaitTimeoutError } from '../errors/lock-wait-timeout.error.js';
import { LockUsageError } from '../errors/lock-usage.error.js';
import type { LockCall } from '../lease/lock-call.js';
import { LockStoreError } from '../store/lock-store.js';

/** What to tell a caller of whom nothing better is known. */
const RETRY_AFTER_MS = 1_000;

const retryAfter = (leftMs: number): number => (leftMs >= 0 ? Math.ceil(leftMs) : RETRY_AFTER_MS);

export function contended({ label, key }: LockCall, leftMs: number): LockContendedError {
  return new LockContendedError(
    `The lock "${label}" is held by somebody else. Try again later, or set "wait" to wait for it.`,
    { key, retryAfterMs: retryAfter(leftMs) },
  );
}

export function waitTimedOut(
  { label, key, options }: LockCall,
  waitedMs: number,
  leftMs: number,
): LockWaitTimeoutError {
  return new LockWaitTimeoutError(
    `The lock "${label}" did not become free within "wait" (${options.waitMs} ms). Try again later, or wait longer.`,
    { key, waitedMs: Math.round(waitedMs), retryAfterMs: retryAfter(leftMs) },
  );
}

export function aborted({ label, key, signal }: LockCall): LockAbortedError {
  return new LockAbortedError(`The wait for the lock "${label}" was ended by the caller's signal.`, {
    key,
    cause: signal?.reason,
  });
}

export function nested({ label, key }: LockCall, outer: string): LockUsageError {
  return new LockUsageError(
    `The lock "${label}" is held by the call that asks for it (as "${outer}"), so it would wait for itself. ` +
      'Take it once, or set "reentrant: true".',
    { key },
  );
}

export function upgrade({ label, key }: LockCall, outer: string): LockUsageError {
  return new LockUsageError(
    `The lock "${label}" is held for reading by the call that asks to write (as "${outer}"), so it would wait for itself. ` +
      'Give the read lock back first, or take the write lock from the start and downgrade() it.',
    { key },
  );
}

/** The key is in use as something else. `found`: the permits of the semaphore that it is, if it is one. */
export function mismatch({ label, key, options }: LockCall, found: number | undefined): LockUsageError {
  const wanted = options.kind === 'semaphore' ? `a semaphore of ${options.permits} permits` : `kind "${options.kind}"`;
  const is = found === undefined ? 'a lock of another kind' : `a semaphore of ${found} permits`;
  return new LockUsageError(
    `The lock "${label}" asks for ${wanted}, but its key is ${is} at present. Use one kind, and one number of permits, for a key.`,
    { key },
  );
}

export function notOffered({ label, key, options }: LockCall, offered: ReadonlySet<string>): LockUsageError {
  return new LockUsageError(
    `The lock "${label}" asks for kind "${options.kind}", but its connection offers only ${[...offered].join(', ')}.`,
    { key },
  );
}

export function noReaders({ label, key }: LockCall): LockUsageError {
  return new LockUsageError(`The lock "${label}" cannot be downgraded: its connection offers no read locks.`, { key });
}

export function unordered({ label, key }: LockCall): LockUsageError {
  return new LockUsageError(
    `The lock "${label}" asks for "fair: 'strict'", but its connection keeps no order among those who wait. Use "fair: 'process'".`,
    { key },
  );
}

export function shuttingDown({ label, key }: LockCall): LockShutdownError {
  return new LockShutdownError(`The lock "${label}" is not given out any more: the application is shutting down.`, {
    key,
  });
}

export function unavailable({ label, key }: LockCall, cause: Error): LockUnavailableError {
  return new LockUnavailableError(`The lock "${label}" could not be taken because its store failed: ${cause.message}`, {
    key,
    cause,
    votes: cause instanceof LockStoreError ? cause.votes : undefined,
    replicas: cause instanceof LockStoreError ? cause.replicas : undefined,
  });
}

/** Nothing was heard while the caller waited: nobody is known to hold the lock. */
export const mute = ({ options }: LockCall): Error =>
  new Error(`it did not answer within "wait" (${options.waitMs} ms).`);

export function tooManyWaiters({ label, key }: LockCall, limit: number, scope: string): LockUnavailableError {
  return new LockUnavailableError(
    `The lock "${label}" has ${limit} callers waiting ${scope} already. Try again later, or raise "maxWaiters".`,
    { key },
  );
}

/** @param fault - what the store has against the key */
export function unusableKey({ label, key }: LockCall, fault: string): LockKeyError {
  return new LockKeyError(`The key of the lock "${label}" ${fault}.`, { key, method: label, source: 'code' });
}

export const notInspected = (what: string): LockUsageError =>
  new LockUsageError(`Locks of this connection cannot be ${what}: its store does not offer it.`);

export function notAnswered(method: string, key: string, cause: Error): LockUnavailableError {
  return new LockUnavailableError(`${method} failed because its store failed: ${cause.message}`, { key, cause });
}
