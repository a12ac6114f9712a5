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
 * Logs the order in which an interceptor and the lock wrap a handler: interceptor, lock, handler, release, interceptor.
 * The lock is innermost for any order of decorators: it is acquired after guards, interceptors and pipes, with the validated
 * arguments. So interceptors run without the lock, and a request with a 400 response acquires none.
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
  return error instanceof Error ? error.name : 'the thrown value is not an Error';
}
