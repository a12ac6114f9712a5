import { type ExecutionContext, HttpException, Inject, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

import { type AnyLockError, isLockError, type LockErrorCode } from '../../errors.js';
import { LOCK_CONNECTIONS } from '../tokens.js';
import { clientHasLeft } from './call-scope.js';
import { ownException } from './error-mapping.js';
import { LockConnections } from './lock-connections.js';

const logger = new Logger('DistributeLock');

/** Turns lock errors into what each transport understands; all other errors stay what they are. */
@Injectable()
export class TransportErrors {
  constructor(
    @Inject(LOCK_CONNECTIONS) private readonly connections: LockConnections,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  /** A promise only where the transport's package has to be loaded first, or the user's own exception. It never rejects. */
  map(error: unknown, context: ExecutionContext): unknown {
    if (!isLockError(error)) return error;
    if (context.getType() === 'http') this.setRetryAfter(error, context);
    const orAnswer = (own: unknown): unknown => (own === undefined ? this.answer(error, context) : own);
    const own = ownException(error, this.connections.settings.errors, context);
    return own instanceof Promise ? own.then(orAnswer, (thrown: unknown) => thrown) : orAnswer(own);
  }

  private answer(error: AnyLockError, context: ExecutionContext): unknown {
    const status = statusOf(error, this.connections.settings.contendedStatus, clientHasLeft(context));
    switch (context.getType<string>()) {
      case 'http':
      case 'graphql':
        log(error, status);
        return httpException(error, status);
      case 'rpc':
        log(error, status);
        return loaded('@nestjs/microservices', 'RpcException', error);
      case 'ws':
        log(error, status);
        return loaded('@nestjs/websockets', 'WsException', error);
      default:
        return error;
    }
  }

  private setRetryAfter(error: AnyLockError, context: ExecutionContext): void {
    const { retryAfterMs } = payloadOf(error);
    const response: unknown = context.switchToHttp().getResponse();
    // 'http' is also the type of calls by `ExternalContextCreator` that say nothing else: they have no response, and an
    // application without a server has no adapter.
    const adapter = this.host.httpAdapter as HttpAdapterHost['httpAdapter'] | null | undefined;
    if (retryAfterMs === undefined || typeof response !== 'object' || response === null) return;
    if (adapter?.isHeadersSent(response) !== false) return;
    adapter.setHeader(response, 'Retry-After', String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  }
}

function httpException(error: AnyLockError, statusCode: number): HttpException {
  return new HttpException({ statusCode, ...payloadOf(error) }, statusCode, { cause: error });
}

/** Nest logs errors that it does not know, and after the mapping it knows this one: so it is logged here. */
function log(error: AnyLockError, status: number): void {
  if (status === 500) logger.error(error.message, error.stack);
  else if (status === 499) logger.debug(error.message);
}

/** Only an application that has the transport gets here, so its package is loaded then and not before. */
async function loaded(packageName: string, exception: string, error: AnyLockError): Promise<unknown> {
  try {
    const exported = (await import(packageName)) as Record<string, new (payload: LockErrorPayload) => Error>;
    const Exception = exported[exception];
    if (Exception === undefined) return error;
    return Object.assign(new Exception(payloadOf(error)), { cause: error });
  } catch {
    return error;
  }
}

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
function payloadOf(error: AnyLockError): LockErrorPayload {
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
