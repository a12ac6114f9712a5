import { type ExecutionContext, HttpException, Inject, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

import { type AnyLockError, isLockError, type LockErrorCode } from '../../errors.js';
import { LOCK_CONNECTIONS } from '../tokens.js';
import { clientHasLeft } from './call-scope.js';
import { customException } from './error-mapping.js';
import { LockConnections } from './lock-connections.js';
import { oncePerMinute } from '../../locks/once-per-minute.js';

const logger = new Logger('DistributeLock');

/** Metadata of `@EventPattern`. The values are copied, because `@nestjs/microservices` is optional. */
const HANDLER_TYPE = 'microservices:handler_type';
const EVENT = 2;

/** Maps lock errors to exceptions of each transport; all other errors remain unchanged. */
@Injectable()
export class TransportErrors {
  private readonly warnOnce = oncePerMinute((text) => logger.warn(text));

  constructor(
    @Inject(LOCK_CONNECTIONS) private readonly connections: LockConnections,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  /** Returns the exception, or a promise if the package of the transport is not loaded yet or a custom exception is a promise. Never rejects. */
  map(error: unknown, context: ExecutionContext): unknown {
    // The cause of an exception that `onContended` throws.
    const lockError = isLockError(error) ? error : (Object(error) as { readonly cause?: unknown }).cause;
    if (context.getType() === 'http' && isLockError(lockError)) this.setRetryAfter(lockError, context);
    if (!isLockError(error)) return error;
    if (context.getType() === 'rpc') this.warnOfEvent(error, context);
    const orMapped = (custom: unknown): unknown => (custom === undefined ? this.mapped(error, context) : custom);
    const custom = customException(error, this.connections.settings.errors, context);
    return custom instanceof Promise ? custom.then(orMapped, (thrown: unknown) => thrown) : orMapped(custom);
  }

  private mapped(error: AnyLockError, context: ExecutionContext): unknown {
    const status = statusOf(error, this.connections.settings.contendedStatus, clientHasLeft(context));
    switch (context.getType<string>()) {
      case 'http':
        log(error, status);
        return httpException(error, status);
      case 'graphql':
        log(error, status);
        return graphqlException(error, status);
      case 'rpc':
        log(error, status);
        return exceptionOf('rpc', error);
      case 'ws':
        log(error, status);
        return exceptionOf('ws', error);
      default:
        return error;
    }
  }

  /** Nest 10 and 11 log no RPC exception, and the sender of an event gets no reply. */
  private warnOfEvent({ code, message }: AnyLockError, context: ExecutionContext): void {
    // Without a handler in guards.
    const handler = context.getHandler() as object | null;
    if (handler === null || Reflect.getMetadata(HANDLER_TYPE, handler) !== EVENT) return;
    const method = `${context.getClass().name}.${context.getHandler().name}`;
    this.warnOnce(`${code} ${method}`, `${method} failed for an event, and its sender gets no error: ${message}`);
  }

  private setRetryAfter(error: AnyLockError, context: ExecutionContext): void {
    const { retryAfterMs } = payloadOf(error);
    const response: unknown = context.switchToHttp().getResponse();
    // 'http' is also the default type of calls by `ExternalContextCreator`, which have no response. An application without a server
    // has no adapter.
    const adapter = this.host.httpAdapter as HttpAdapterHost['httpAdapter'] | null | undefined;
    if (retryAfterMs === undefined || typeof response !== 'object' || response === null) return;
    if (adapter?.isHeadersSent(response) !== false) return;
    adapter.setHeader(response, 'Retry-After', String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  }
}

function httpException(error: AnyLockError, statusCode: number): HttpException {
  return new HttpException({ statusCode, ...payloadOf(error) }, statusCode, { cause: error });
}

/**
 * GraphQL copies `extensions` of an error. `@nestjs/apollo` would replace the code in them, if the response of the exception had a
 * `statusCode`.
 */
function graphqlException(error: AnyLockError, status: number): HttpException {
  const payload = payloadOf(error);
  const { message: _, ...extensions } = { ...payload, status, originalError: { statusCode: status, ...payload } };
  return Object.assign(new HttpException(payload, status, { cause: error }), { extensions });
}

/** Nest logs unknown errors only, and it knows the mapped exception. */
function log(error: AnyLockError, status: number): void {
  if (status === 500) logger.error(error.message, error.stack);
  else if (status === 499) logger.debug(error.message);
}

async function exceptionOf(transport: 'rpc' | 'ws', error: AnyLockError): Promise<unknown> {
  const classes = await classesOf(transport);
  return classes === undefined ? error : Object.assign(new classes.Exception(payloadOf(error)), { cause: error });
}

/**
 * Loads the package of the transport on first use, because it is optional; `undefined` without it. The names are literals inside `try`:
 * a bundler includes an installed package, and accepts that one is absent.
 */
export async function classesOf(transport: 'rpc' | 'ws') {
  try {
    if (transport === 'rpc') {
      const { RpcException, BaseRpcExceptionFilter } = await import('@nestjs/microservices');
      return { Exception: RpcException, Filter: BaseRpcExceptionFilter };
    }
    const { WsException, BaseWsExceptionFilter } = await import('@nestjs/websockets');
    return { Exception: WsException, Filter: BaseWsExceptionFilter };
  } catch {
    return undefined;
  }
}

/** The payload that a client receives, on every transport. */
export interface LockErrorPayload {
  readonly code: LockErrorCode;
  readonly message: string;
  readonly retryAfterMs?: number;
}

/** Statuses from option `contendedStatus` of a decorator. */
const chosenStatus = new WeakMap<Error, number>();

/** Sets the HTTP status of this error, instead of the module's. */
export function setContendedStatus(error: Error, status: number): void {
  chosenStatus.set(error, status);
}

/**
 * The HTTP status of the error.
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
      // If the client has disconnected, only access logs show the status. Otherwise something else ended the wait, such as a time limit.
      return clientLeft ? 499 : 503;
    default:
      return 500;
  }
}

/** The error for clients: whether a retry may help, without keys, methods or options. */
function payloadOf(error: AnyLockError): LockErrorPayload {
  const { code } = error;
  const message = publicMessage(error);
  return mayRetry(error) ? { code, message, retryAfterMs: retryHint(error) } : { code, message };
}

function publicMessage(error: AnyLockError): string {
  switch (error.code) {
    case 'LOCK_CONTENDED':
      return 'Another request is in progress; try again later.';
    case 'LOCK_WAIT_TIMEOUT':
      return 'Another request is still in progress; try again later.';
    case 'LOCK_UNAVAILABLE':
      return 'The service is temporarily unavailable; try again later.';
    case 'LOCK_SHUTDOWN':
      return 'The server is shutting down; try again.';
    case 'LOCK_ABORTED':
      return 'The wait for another request was aborted; try again later.';
    case 'LOCK_KEY':
      if (error.source === 'code') break;
      return error.path === undefined
        ? 'A value of the request is invalid.'
        : `A value of the request is missing or invalid: ${error.path}`;
    default:
  }
  // The log contains the details.
  return 'Internal server error';
}

function mayRetry({ code }: AnyLockError): boolean {
  return (
    code === 'LOCK_CONTENDED' || code === 'LOCK_WAIT_TIMEOUT' || code === 'LOCK_UNAVAILABLE' || code === 'LOCK_SHUTDOWN'
  );
}

function retryHint(error: AnyLockError): number {
  const hint = 'retryAfterMs' in error ? error.retryAfterMs : 1000;
  return Number.isFinite(hint) && hint > 0 ? Math.ceil(hint) : 1000;
}
