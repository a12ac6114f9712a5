import { applyDecorators, type Type } from '@nestjs/common';
import { ApiResponse, type ApiResponseOptions } from '@nestjs/swagger';

import type { LockErrorCode } from '../errors.js';

/** Options of `@ApiLockResponses()`. @public */
export interface ApiLockResponsesOptions {
  /**
   * The HTTP status when another caller holds the lock, as configured by `contendedStatus`.
   * @defaultValue `409`
   */
  readonly contendedStatus?: number;
  /**
   * Whether 400 and 500 are documented, too: a value of the key is missing in the request, or the lease was lost.
   * @defaultValue `false`
   */
  readonly all?: boolean;
  /**
   * The class of the body, if a filter or the module option `errors` replaces it.
   * @defaultValue none; the body of the module
   */
  readonly type?: Type<unknown>;
  /**
   * The schema of the body, instead of `type`.
   * @defaultValue none; the body of the module
   */
  readonly schema?: Extract<ApiResponseOptions, { readonly schema: unknown }>['schema'];
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
  const { contendedStatus = 409, all = false } = options;
  const responses = new Map<number, Documented>();
  for (const { status = contendedStatus, description, codes } of RESPONSES) {
    if (!all && OPTIONAL.has(status)) continue;
    // `contendedStatus` may be 400 or 503.
    const known = responses.get(status);
    responses.set(status, {
      description: known === undefined ? description : `${known.description} ${description}`,
      codes: [...(known?.codes ?? []), ...codes],
    });
  }
  return applyDecorators(...Array.from(responses, ([status, documented]) => response(status, documented, options)));
}

interface Documented {
  readonly description: string;
  readonly codes: readonly LockErrorCode[];
}

const OPTIONAL: ReadonlySet<number> = new Set([400, 500]);

/** Without `status`: that of a held lock. */
const RESPONSES: readonly (Documented & { readonly status?: number })[] = [
  { description: 'Another request holds the lock.', codes: ['LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT'] },
  {
    status: 503,
    description: 'Locks are unavailable, or the server shuts down.',
    codes: ['LOCK_UNAVAILABLE', 'LOCK_SHUTDOWN', 'LOCK_ABORTED'],
  },
  { status: 400, description: 'A value of the request is missing or invalid.', codes: ['LOCK_KEY'] },
  {
    status: 500,
    description: 'The lock was lost, or the server is configured incorrectly.',
    codes: ['LEASE_LOST', 'LOCK_KEY', 'LOCK_USAGE', 'LOCK_CONFIGURATION'],
  },
];

function response(
  status: number,
  { description, codes }: Documented,
  { type, schema }: ApiLockResponsesOptions,
): ClassDecorator & MethodDecorator {
  const mayRetry = codes.includes('LOCK_CONTENDED') || status === 503;
  return ApiResponse({
    status,
    description,
    ...(mayRetry && {
      headers: {
        'Retry-After': { description: 'Seconds until a retry may succeed.', schema: { type: 'integer', minimum: 1 } },
      },
    }),
    ...(type === undefined ? { schema: schema ?? bodyOf(status, codes, mayRetry) } : { type }),
  });
}

function bodyOf(
  status: number,
  codes: readonly LockErrorCode[],
  mayRetry: boolean,
): NonNullable<ApiLockResponsesOptions['schema']> {
  return {
    type: 'object',
    required: ['statusCode', 'code', 'message'],
    properties: {
      statusCode: { type: 'integer', enum: [status] },
      code: { type: 'string', enum: [...codes] },
      message: { type: 'string' },
      ...(mayRetry && {
        retryAfterMs: { type: 'integer', minimum: 1, description: 'Milliseconds until a retry may succeed.' },
      }),
    },
  };
}
