import { type ExecutionContext, HttpException, Inject, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

import { type AnyLockError, isLockError } from '../../errors.js';
import { clientHasLeft } from './call-scope.js';
import { ownException } from './error-mapping.js';
import { type LockErrorPayload, payloadOf, statusOf } from './error-payload.js';
import { LockConnections } from './lock-connections.js';
import { LOCK_CONNECTIONS } from './lock-metadata.js';

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
