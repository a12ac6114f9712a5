import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';

import type { LockErrorCode } from '../errors.js';

/** Options of `@ApiLockResponses()`. @public */
export interface ApiLockResponsesOptions {
  /**
   * The HTTP status when another caller holds the lock, as configured by `contendedStatus`.
   * @defaultValue `409`
   */
  readonly contendedStatus?: number;
}

/**
 * Documents the responses of a locked route in OpenAPI: the status when another caller holds the lock, and 503 when locks are
 * unavailable or the server shuts down. Both have the header `Retry-After`, except after an
 * aborted wait.
 *
 * On a class, the decorator documents every route. On a method, Swagger no longer adds the response of a success, as with every
 * `@ApiResponse`: add `@ApiCreatedResponse()` or `@ApiOkResponse()`.
 *
 * @example
 * ```ts
 * @Post()
 * @ApiLockResponses()
 * @DistributeLock({ key: 'payment:#{body.orderId}' })
 * async pay(@Body() body: PaymentDto) {}
 * ```
 * @public
 */
export function ApiLockResponses(options: ApiLockResponsesOptions = {}): ClassDecorator & MethodDecorator {
  const { contendedStatus = 409 } = options;
  return applyDecorators(
    response(contendedStatus, 'Another request holds the lock.', ['LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT']),
    response(503, 'Locks are unavailable, or the server shuts down.', [
      'LOCK_UNAVAILABLE',
      'LOCK_SHUTDOWN',
      'LOCK_ABORTED',
    ]),
  );
}

function response(
  status: number,
  description: string,
  codes: readonly LockErrorCode[],
): ClassDecorator & MethodDecorator {
  return ApiResponse({
    status,
    description,
    headers: {
      'Retry-After': { description: 'Seconds until a retry may succeed.', schema: { type: 'integer', minimum: 1 } },
    },
    schema: {
      type: 'object',
      required: ['statusCode', 'code', 'message'],
      properties: {
        statusCode: { type: 'integer', enum: [status] },
        code: { type: 'string', enum: [...codes] },
        message: { type: 'string' },
        retryAfterMs: { type: 'integer', minimum: 1, description: 'Milliseconds until a retry may succeed.' },
      },
    },
  });
}
