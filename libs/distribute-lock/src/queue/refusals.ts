import {
  LockAbortedError,
  LockContendedError,
  LockKeyError,
  LockShutdownError,
  LockUnavailableError,
  LockUsageError,
  LockWaitTimeoutError,
} from '../errors.js';
import type { LockCall } from '../lease/lock-call.js';
import { LockStoreError } from '../store/lock-store.js';

export function contended({ name, key }: LockCall, retryAfterMs: number): LockContendedError {
  return new LockContendedError(
    `The lock "${name}" is held by somebody else. Try again later, or set "wait" to wait for it.`,
    { key, retryAfterMs },
  );
}

export function waitTimedOut(
  { name, key, options }: LockCall,
  waitedMs: number,
  retryAfterMs: number,
): LockWaitTimeoutError {
  return new LockWaitTimeoutError(
    `The lock "${name}" did not become free within "wait" (${options.waitMs} ms). Try again later, or wait longer.`,
    { key, waitedMs: Math.round(waitedMs), retryAfterMs },
  );
}

export function aborted({ name, key, signal, endsWait }: LockCall): LockAbortedError {
  const by = signal?.aborted === true ? "the caller's signal" : 'the client, which left';
  return new LockAbortedError(`The wait for the lock "${name}" was ended by ${by}.`, {
    key,
    cause: signal?.aborted === true ? signal.reason : endsWait?.reason,
  });
}

export function nested({ name, key }: LockCall, outer: string): LockUsageError {
  return new LockUsageError(
    `The lock "${name}" is held by the call that asks for it (as "${outer}"), so it would wait for itself. ` +
      'Take it once, or set "reentrant: true".',
    { key },
  );
}

export function upgrade({ name, key }: LockCall, outer: string): LockUsageError {
  return new LockUsageError(
    `The lock "${name}" is held for reading by the call that asks to write (as "${outer}"), so it would wait for itself. ` +
      'Give the read lock back first, or take the write lock from the start and downgrade() it.',
    { key },
  );
}

/** The key is in use as something else. `found`: the permits of the semaphore that it is, if it is one. */
export function mismatch({ name, key, options }: LockCall, found: number | undefined): LockUsageError {
  const wanted = options.kind === 'semaphore' ? `a semaphore of ${options.permits} permits` : `kind "${options.kind}"`;
  const is = found === undefined ? 'a lock of another kind' : `a semaphore of ${found} permits`;
  return new LockUsageError(
    `The lock "${name}" asks for ${wanted}, but its key is ${is} at present. Use one kind, and one number of permits, for a key.`,
    { key },
  );
}

export function notOffered({ name, key, options }: LockCall, offered: ReadonlySet<string>): LockUsageError {
  return new LockUsageError(
    `The lock "${name}" asks for kind "${options.kind}", but its connection offers only ${[...offered].join(', ')}.`,
    { key },
  );
}

export function noReaders({ name, key }: LockCall): LockUsageError {
  return new LockUsageError(`The lock "${name}" cannot be downgraded: its connection offers no read locks.`, { key });
}

export function unordered({ name, key }: LockCall): LockUsageError {
  return new LockUsageError(
    `The lock "${name}" asks for "fair: 'strict'", but its connection keeps no order among those who wait. Use "fair: 'process'".`,
    { key },
  );
}

export function shuttingDown({ name, key }: LockCall): LockShutdownError {
  return new LockShutdownError(`The lock "${name}" is not given out any more: the application is shutting down.`, {
    key,
  });
}

export function unavailable({ name, key }: LockCall, cause: Error): LockUnavailableError {
  return new LockUnavailableError(`The lock "${name}" could not be taken because its store failed: ${cause.message}`, {
    key,
    cause,
    votes: cause instanceof LockStoreError ? cause.votes : undefined,
    replicas: cause instanceof LockStoreError ? cause.replicas : undefined,
  });
}

/** Nothing was heard while the caller waited: nobody is known to hold the lock. */
export const mute = ({ options }: LockCall): Error =>
  new Error(`it did not answer within "wait" (${options.waitMs} ms).`);

export function tooManyWaiters({ name, key }: LockCall, limit: number, scope: string): LockUnavailableError {
  return new LockUnavailableError(
    `The lock "${name}" has ${limit} callers waiting ${scope} already. Try again later, or raise "maxWaiters".`,
    { key },
  );
}

export function tooManyKept({ name, key }: LockCall, limit: number): LockUnavailableError {
  return new LockUnavailableError(
    `The lock "${name}" keeps its key after its work, and this process has ${limit} such locks already. Try again later, shorten ` +
      '"minHold" or "ttl", or raise "maxKept".',
    { key },
  );
}

/** @param fault - what the store has against the key */
export function unusableKey({ name, key }: LockCall, fault: string): LockKeyError {
  return new LockKeyError(`The key of the lock "${name}" ${fault}.`, { key, method: name, source: 'code' });
}

export const notInspected = (what: string): LockUsageError =>
  new LockUsageError(`Locks of this connection cannot be ${what}: its store does not offer it.`);

export function notAnswered(method: string, key: string, cause: Error): LockUnavailableError {
  return new LockUnavailableError(`${method} failed because its store failed: ${cause.message}`, { key, cause });
}
