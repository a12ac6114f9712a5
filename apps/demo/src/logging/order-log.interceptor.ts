import {
  type CallHandler,
  type ExecutionContext,
  HttpException,
  Injectable,
  Logger,
  type NestInterceptor,
} from '@nestjs/common';
import { type Observable, tap } from 'rxjs';

/**
 * Shows in the log in which order an interceptor and the lock wrap a handler: interceptor, lock, handler, release,
 * interceptor. The lock is innermost wherever the decorators stand, because it is taken after guards, interceptors and
 * pipes, with the validated arguments. So interceptors see neither the lock held nor a request that ended in a 400.
 */
@Injectable()
export class OrderLogInterceptor implements NestInterceptor {
  private readonly logger = new Logger('interceptor');

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const method = `${context.getClass().name}.${context.getHandler().name}`;
    this.logger.log(`${method}: before the lock`);
    return next.handle().pipe(
      tap({
        next: () => this.logger.log(`${method}: after the release`),
        error: (error: unknown) => this.logger.log(`${method}: ended without a result, ${nameOf(error)}`),
      }),
    );
  }
}

function nameOf(error: unknown): string {
  if (error instanceof HttpException) return `status ${error.getStatus()}`;
  return error instanceof Error ? error.name : 'something that is no Error was thrown';
}
