import type { AnyLockError, LockErrorCode } from '../../errors.js';

/** What a client is told, on every transport. */
export interface LockErrorPayload {
  readonly code: LockErrorCode;
  readonly message: string;
  readonly retryAfterMs?: number;
}

/** Statuses that a decorator chose for the errors of its own lock. */
const chosenStatus = new WeakMap<Error, number>();

/** Has the error answered with this HTTP status instead of the module's. */
export function answerWith(error: Error, status: number): void {
  chosenStatus.set(error, status);
}

/**
 * The HTTP status that fits the error.
 * @param clientLeft - the connection of the request was closed
 */
export function statusOf(error: AnyLockError, contendedStatus: number, clientLeft: boolean): number {
  switch (error.code) {
    case 'LOCK_CONTENDED':
    case 'LOCK_WAIT_TIMEOUT':
      return chosenStatus.get(error) ?? contendedStatus;
    case 'LOCK_UNAVAILABLE':
    case 'LOCK_SHUTDOWN':
      return 503;
    case 'LOCK_KEY':
      return error.source === 'request' ? 400 : 500;
    case 'LOCK_ABORTED':
      // Without a client the status is only for access logs. With one, something else ended the wait, such as a time limit.
      return clientLeft ? 499 : 503;
    default:
      return 500;
  }
}

/** The error in words for clients: whether trying again helps, and nothing of keys, methods or options. */
export function payloadOf(error: AnyLockError): LockErrorPayload {
  const { code } = error;
  const message = publicMessage(error);
  return mayHelp(error) ? { code, message, retryAfterMs: retryHint(error) } : { code, message };
}

function publicMessage(error: AnyLockError): string {
  switch (error.code) {
    case 'LOCK_CONTENDED':
      return 'Somebody else is working on this; try again later.';
    case 'LOCK_WAIT_TIMEOUT':
      return 'Somebody else is still working on this; try again later.';
    case 'LOCK_UNAVAILABLE':
      return 'This cannot be done at the moment; try again later.';
    case 'LOCK_SHUTDOWN':
      return 'This server is stopping; try again.';
    case 'LOCK_ABORTED':
      return 'The wait for this was ended; try again later.';
    case 'LOCK_KEY':
      if (error.source === 'code') break;
      return error.path === undefined
        ? 'A value of the request cannot be used.'
        : `A value of the request is missing or cannot be used: ${error.path}`;
    default:
  }
  // What went wrong inside is for the log.
  return 'Internal server error';
}

function mayHelp({ code }: AnyLockError): boolean {
  return (
    code === 'LOCK_CONTENDED' || code === 'LOCK_WAIT_TIMEOUT' || code === 'LOCK_UNAVAILABLE' || code === 'LOCK_SHUTDOWN'
  );
}

function retryHint(error: AnyLockError): number {
  const hint = 'retryAfterMs' in error ? error.retryAfterMs : 1000;
  return Number.isFinite(hint) && hint > 0 ? Math.ceil(hint) : 1000;
}
