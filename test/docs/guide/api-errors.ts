import {
  type ArgumentsHost,
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
import { DistributeLock, isLockError, type LockModuleOptions } from 'nestjs-distribute-lock';
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
const STATUS: Partial<Record<string, number>> = { LOCK_CONTENDED: 409, LOCK_WAIT_TIMEOUT: 409, LOCK_KEY: 400 };

export const errors: LockModuleOptions['errors'] = {
  default: (error) => new HttpException({ error: { code: error.code } }, STATUS[error.code] ?? 503, { cause: error }),
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
      catchError((payload: { code?: string; message: string }) => {
        const status = GATEWAY_STATUS[payload.code ?? ''] ?? 502;
        throw new HttpException({ statusCode: status, ...payload }, status);
      }),
    );
  }
}
// #endregion
