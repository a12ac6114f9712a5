import { type ExecutionContext, HttpException, Inject, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

import { type AnyLockError, isLockError } from '../errors/is-lock-error.js';
import type { LockErrorCode } from '../errors/lock.error.js';
import { LockConnections } from './lock-connections.js';
import { LOCK_CONNECTIONS } from './lock-metadata.js';

/** What a client is told, on every transport. */
interface LockErrorPayload {
  readonly code: LockErrorCode;
  readonly message: string;
  readonly retryAfterMs?: number;
}

const logger = new Logger('DistributeLock');
/** Statuses that a decorator chose for the errors of its own lock. */
const chosenStatus = new WeakMap<Error, number>();

/** Has the error answered with this HTTP status instead of the module's. */
export function answerWith(error: Error, status: number): void {
  chosenStatus.set(error, status);
}

/** Turns lock errors into what each transport understands; all other errors stay what they are. */
@Injectable()
export class TransportErrors {
  constructor(
    @Inject(LOCK_CONNECTIONS) private readonly connections: LockConnections,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  /** A promise only where the transport's package has to be loaded first. */
  map(error: unknown, context: ExecutionContext): unknown {
    if (!isLockError(error)) return error;
    switch (context.getType<string>()) {
      case 'http':
        return this.http(error, context);
      case 'graphql':
        return httpException(error, this.statusOf(error));
      case 'rpc':
        return loaded('@nestjs/microservices', 'RpcException', error, this.statusOf(error));
      case 'ws':
        return loaded('@nestjs/websockets', 'WsException', error, this.statusOf(error));
      default:
        return error;
    }
  }

  private http(error: AnyLockError, context: ExecutionContext): HttpException {
    const exception = httpException(error, this.statusOf(error));
    const { retryAfterMs: laterMs } = payloadOf(error, exception.getStatus());
    const response: unknown = context.switchToHttp().getResponse();
    const adapter = this.host.httpAdapter;
    if (laterMs !== undefined && adapter.isHeadersSent(response) === false) {
      adapter.setHeader(response, 'Retry-After', String(Math.max(1, Math.ceil(laterMs / 1000))));
    }
    return exception;
  }

  private statusOf(error: AnyLockError): number {
    switch (error.code) {
      case 'LOCK_CONTENDED':
      case 'LOCK_WAIT_TIMEOUT':
        return chosenStatus.get(error) ?? this.connections.contendedStatus;
      case 'LOCK_UNAVAILABLE':
      case 'LOCK_SHUTDOWN':
        return 503;
      case 'LOCK_KEY':
        return error.source === 'request' ? 400 : 500;
      default:
        return 500;
    }
  }
}

function httpException(error: AnyLockError, statusCode: number): HttpException {
  return new HttpException({ statusCode, ...payloadOf(error, statusCode) }, statusCode, {
    cause: logged(error, statusCode),
  });
}

function payloadOf(error: AnyLockError, status: number): LockErrorPayload {
  const { code } = error;
  // What went wrong inside is for the log; a client learns whether trying again helps.
  if (status === 500) return { code, message: 'Internal server error' };
  if (status === 503) {
    return {
      code,
      message: 'The lock cannot be had at the moment; try again later.',
      retryAfterMs: retryHint(error),
    };
  }
  return status === 400 && code === 'LOCK_KEY'
    ? { code, message: error.message }
    : { code, message: error.message, retryAfterMs: retryHint(error) };
}

function retryHint(error: AnyLockError): number {
  const hint = 'retryAfterMs' in error ? error.retryAfterMs : 1000;
  return Number.isFinite(hint) && hint > 0 ? Math.ceil(hint) : 1000;
}

/** Nest logs errors that it does not know, and after the mapping it knows this one: so it is logged here. */
function logged(error: AnyLockError, status: number): AnyLockError {
  if (status === 500) logger.error(error.message, error.stack);
  return error;
}

/** Only an application that has the transport gets here, so its package is loaded then and not before. */
async function loaded(packageName: string, exception: string, error: AnyLockError, status: number): Promise<unknown> {
  logged(error, status);
  try {
    const exported = (await import(packageName)) as Record<string, new (payload: LockErrorPayload) => Error>;
    const Exception = exported[exception];
    if (Exception === undefined) return error;
    return Object.assign(new Exception(payloadOf(error, status)), { cause: error });
  } catch {
    return error;
  }
}
