import { inspect } from 'node:util';

import type { ExecutionContext } from '@nestjs/common';

import { type AnyLockError, LOCK_ERROR_CODES, LockConfigurationError, type LockErrorCode } from '../../errors.js';

/**
 * Creates a custom exception for a lock error that leaves a handler, guard, pipe, interceptor or middleware.
 * @param context - the context of the request, for exceptions that depend on the transport. Its `getClass()` and `getHandler()` return
 * `null` for errors of guards, middleware and earlier interceptors.
 * @returns the exception or a promise of it; the function may also throw it. With `undefined` the module maps the error.
 * @public
 */
export type LockErrorMapper<Code extends LockErrorCode = LockErrorCode> = (
  error: Extract<AnyLockError, { readonly code: Code }>,
  context: ExecutionContext,
) => unknown;

/** Functions that create custom exceptions, by error code; `default` is for all codes without their own. @public */
export type LockErrorMappers = { readonly [Code in LockErrorCode]?: LockErrorMapper<Code> } & {
  readonly default?: LockErrorMapper;
};

/** @throws LockConfigurationError when a code is unknown or its value is not a function */
export function checkErrorMappers(mappers: LockErrorMappers): void {
  for (const [code, mapper] of Object.entries(mappers)) {
    if (code !== 'default' && !LOCK_ERROR_CODES.includes(code as LockErrorCode)) {
      throw new LockConfigurationError(
        `Option "errors.${code}" is not known. Known are ${LOCK_ERROR_CODES.join(', ')} and default.`,
      );
    }
    if (mapper !== undefined && typeof mapper !== 'function') {
      throw new LockConfigurationError(
        `Option "errors.${code}" is ${inspect(mapper)}, but it must be a function that creates an exception.`,
      );
    }
  }
}

/** The custom exception for the error, or a promise of it; `undefined` if the module maps the error. */
export function customException(error: AnyLockError, mappers: LockErrorMappers, context: ExecutionContext): unknown {
  const mapper = (mappers[error.code] ?? mappers.default) as LockErrorMapper | undefined;
  if (mapper === undefined) return undefined;
  try {
    return mapper(error, context);
  } catch (thrown) {
    // The function may throw its exception instead of returning it.
    return thrown;
  }
}
