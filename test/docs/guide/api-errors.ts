import {
  type ArgumentsHost,
  BadGatewayException,
  Catch,
  Controller,
  type ExceptionFilter,
  HttpException,
  Inject,
  Param,
  Post,
  ServiceUnavailableException,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { ClientProxy } from '@nestjs/microservices';
import { DistributeLock, isLockError, type LockErrorMappers } from 'nestjs-distribute-lock';
import { ApiLockResponses } from 'nestjs-distribute-lock/swagger';
import { catchError, type Observable } from 'rxjs';

// #region filter
@Catch(HttpException)
export class Envelope implements ExceptionFilter<HttpException> {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  catch(exception: HttpException, host: ArgumentsHost): void {
    const status = exception.getStatus();
    const { cause, message } = exception;
    const body = { error: { code: isLockError(cause) ? cause.code : 'HTTP', message } };
    this.host.httpAdapter.reply(host.switchToHttp().getResponse(), body, status);
  }
}
// #endregion

// #region errors
const STATUS: Partial<Record<string, number>> = {
  LOCK_CONTENDED: 409,
  LOCK_WAIT_TIMEOUT: 409,
  LOCK_UNAVAILABLE: 503,
  LOCK_SHUTDOWN: 503,
};

export const errors: LockErrorMappers = {
  default: (error, context) => {
    // Other transports, a missing value of the request (400), a client that has left (499): as without this option.
    if (context.getType() !== 'http' || error.code === 'LOCK_KEY' || error.code === 'LOCK_ABORTED') return undefined;
    return new HttpException({ error: { code: error.code } }, STATUS[error.code] ?? 500, { cause: error });
  },
};
// #endregion

// #region limiter
@Controller('reports')
export class ReportsController {
  @Post('render')
  @ApiLockResponses({ contendedStatus: 503 })
  @DistributeLock({ key: 'renderer', kind: 'semaphore', permits: 4, contendedStatus: 503 })
  async render(): Promise<string> {
    return 'rendered';
  }

  @Post('export')
  @DistributeLock({
    key: 'exporter',
    onContended: ({ error }) => {
      throw new ServiceUnavailableException('All exporters are busy.', { cause: error });
    },
  })
  async export(): Promise<string> {
    return 'exported';
  }
}
// #endregion

// #region gateway
const GATEWAY_STATUS: Partial<Record<string, number>> = {
  LOCK_CONTENDED: 409,
  LOCK_WAIT_TIMEOUT: 409,
  LOCK_UNAVAILABLE: 503,
  LOCK_SHUTDOWN: 503,
};

@Controller('orders')
export class OrdersGateway {
  constructor(@Inject('ORDERS') private readonly orders: ClientProxy) {}

  @Post(':id/settle')
  settle(@Param('id') id: string): Observable<unknown> {
    return this.orders.send<unknown>('settle', { id }).pipe(
      catchError(({ code = '', message, retryAfterMs }: { code?: string; message: string; retryAfterMs?: number }) => {
        const statusCode = GATEWAY_STATUS[code];
        // Any other error may contain the address of a server.
        if (statusCode === undefined) throw new BadGatewayException();
        throw new HttpException({ statusCode, code, message, retryAfterMs }, statusCode);
      }),
    );
  }
}
// #endregion
