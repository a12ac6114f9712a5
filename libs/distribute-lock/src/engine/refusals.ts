import {
  LeaseLostError,
  type LeaseLossReason,
  LockAbortedError,
  LockContendedError,
  LockKeyError,
  LockShutdownError,
  LockUnavailableError,
  LockUsageError,
  LockWaitTimeoutError,
} from '../errors.js';
import type { LockCall } from './lease/lock-call.js';
import type { DetachedLease } from './ticket.js';
import { LockStoreError } from '../store/lock-store.js';

export function contended({ name, key }: LockCall, retryAfterMs: number): LockContendedError {
  return new LockContendedError(
    `The lock "${name}" is held by another caller. Try again later, or set "wait" to wait for it.`,
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
  const by = signal?.aborted === true ? "the caller's signal" : 'the disconnect of the client';
  return new LockAbortedError(`The wait for the lock "${name}" was ended by ${by}.`, {
    key,
    cause: signal?.aborted === true ? signal.reason : endsWait?.reason,
  });
}

export function nested({ name, key, options }: LockCall, outer: string): LockUsageError {
  const remedy = options.kind === 'semaphore' ? 'with the sum of the weights' : 'or set "reentrant: true"';
  return new LockUsageError(
    `The lock "${name}" is already held by this call chain (as "${outer}"), so the call would wait for itself. ` +
      `Acquire it once, ${remedy}. Work that this call starts but does not wait for, such as an event listener, ` +
      'belongs in outsideLocks().',
    { key },
  );
}

export function upgrade({ name, key }: LockCall, outer: string): LockUsageError {
  return new LockUsageError(
    `The lock "${name}" is held for reading by this call chain (as "${outer}"), so a write lock would wait for itself. ` +
      'Release the read lock first, or start with the write lock and downgrade() it.',
    { key },
  );
}

export function leavesProcess({ name, key }: LockCall, outer: string): LockUsageError {
  return new LockUsageError(
    `The lock "${name}" is held by this call chain (as "${outer}"), which detaches its lease now. Wait for detach(), and for the locks ` +
      'of the call before it.',
    { key },
  );
}

/** This process uses the key for another kind of lock. `found`: its permits, 0 if it is no semaphore. */
export function mismatch({ name, key, options }: LockCall, found: number): LockUsageError {
  const wanted = options.kind === 'semaphore' ? `a semaphore of ${options.permits} permits` : `kind "${options.kind}"`;
  const is = found === 0 ? 'a lock of another kind' : `a semaphore of ${found} permits`;
  return new LockUsageError(
    `The lock "${name}" asks for ${wanted}, but this process uses its key as ${is} now. Use one kind and one number of permits per key.`,
    { key },
  );
}

export function notSupported({ name, key, options }: LockCall, supported: ReadonlySet<string>): LockUsageError {
  return new LockUsageError(
    `The lock "${name}" asks for kind "${options.kind}", but its connection supports only ${[...supported].join(', ')}.`,
    { key },
  );
}

export function noReaders({ name, key }: LockCall): LockUsageError {
  return new LockUsageError(`The lock "${name}" cannot be downgraded: its connection offers no read locks.`, { key });
}

export function unordered({ name, key }: LockCall): LockUsageError {
  return new LockUsageError(
    `The lock "${name}" asks for "fair: 'strict'", but its connection keeps no order among waiters. Use "fair: 'process'".`,
    { key },
  );
}

export function shuttingDown({ name, key }: LockCall): LockShutdownError {
  return new LockShutdownError(`The lock "${name}" cannot be acquired: the application is shutting down.`, {
    key,
  });
}

export function unavailable({ name, key }: LockCall, cause: Error, done = 'taken'): LockUnavailableError {
  return new LockUnavailableError(
    `The lock "${name}" could not be ${done} because its store failed: ${cause.message}`,
    {
      key,
      cause,
      votes: cause instanceof LockStoreError ? cause.votes : undefined,
      replicas: cause instanceof LockStoreError ? cause.replicas : undefined,
    },
  );
}

export function tooManyWaiters({ name, key }: LockCall, limit: number, scope: string): LockUnavailableError {
  return new LockUnavailableError(
    `The lock "${name}" was not requested: ${limit} callers already wait ${scope}. Try again later, or raise "maxWaiters".`,
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

/** @param fault - why the store rejects the key */
export function unusableKey({ name, key }: LockCall, fault: string): LockKeyError {
  return new LockKeyError(`The key of the lock "${name}" ${fault}.`, { key, method: name, source: 'code' });
}

export const notInspected = (what: string): LockUsageError =>
  new LockUsageError(`Locks of this connection cannot be ${what}: its store does not support it.`);

export const sharedByReaders = (key: string): LockUsageError =>
  new LockUsageError(
    'forceRelease() cannot end one hold of a read lock, because the readers of a process share a lease. Call it without "fencingToken".',
    { key },
  );

export function notAnswered(method: string, key: string, cause: Error): LockUnavailableError {
  return new LockUnavailableError(`${method} failed because its store failed: ${cause.message}`, { key, cause });
}

export const noTickets = (method: string): LockUsageError =>
  new LockUsageError(
    `${method} cannot be used on this connection: its store cannot move a lease in one step. Use one Redis primary, Sentinel or Cluster.`,
  );

export const ofOtherConnection = (method: string): LockUsageError =>
  new LockUsageError(
    `${method} got a ticket that belongs to another connection. Call it on the connection that detached the lease.`,
  );

export function ticketUnavailable(method: string, cause: Error): LockUnavailableError {
  return new LockUnavailableError(
    `${method} failed because its store failed: ${cause.message} The ticket may still be valid: repeat the call.`,
    {
      cause,
    },
  );
}

const TICKET_LOST: Readonly<Partial<Record<LeaseLossReason, string>>> = {
  used: 'it was used before, and a ticket works once',
  expired: 'its lease has ended, or it was never issued',
  released: 'its lease was released',
  taken: 'its key in Redis belongs to another owner',
  maxHold: '"maxHold" has passed since the lease began',
};

export const ticketLost = (reason: LeaseLossReason, lease?: DetachedLease): LeaseLostError =>
  new LeaseLostError(`The ticket cannot be used: ${TICKET_LOST[reason]}. Acquire the lock again.`, {
    key: lease?.keys[0],
    fencingToken: lease?.fencingToken ?? 0,
    reason,
  });
