import { inspect } from 'node:util';

import type { ExecutionContext } from '@nestjs/common';

import { type AnyLockError, LOCK_ERROR_CODES, LockConfigurationError, type LockErrorCode } from '../../errors.js';

/**
 * Makes an exception of one's own for a lock error that leaves a handler.
 * @param context - of the request, for answers that differ by transport
 * @returns the exception, or a promise of it; it may be thrown as well. `undefined` leaves the answer to the module.
 * @public
 */
export type LockErrorMapper<Code extends LockErrorCode = LockErrorCode> = (
  error: Extract<AnyLockError, { readonly code: Code }>,
  context: ExecutionContext,
) => unknown;

/** Exceptions of one's own, by the code of the error that they stand for. @public */
export type LockErrorMappers = { readonly [Code in LockErrorCode]?: LockErrorMapper<Code> };

/** @throws LockConfigurationError when a code is not known, or has no function */
export function checkErrorMappers(mappers: LockErrorMappers): void {
  for (const [code, mapper] of Object.entries(mappers)) {
    if (!LOCK_ERROR_CODES.includes(code as LockErrorCode)) {
      throw new LockConfigurationError(
        `Option "errors.${code}" is not known. Known are ${LOCK_ERROR_CODES.join(', ')}.`,
      );
    }
    if (mapper !== undefined && typeof mapper !== 'function') {
      throw new LockConfigurationError(
        `Option "errors.${code}" is ${inspect(mapper)}, but it must be a function that makes an exception.`,
      );
    }
  }
}

/** The user's own exception for the error, or a promise of it; `undefined` where the module's answer stands. */
export function ownException(error: AnyLockError, mappers: LockErrorMappers, context: ExecutionContext): unknown {
  const mapper = mappers[error.code] as LockErrorMapper | undefined;
  if (mapper === undefined) return undefined;
  try {
    return mapper(error, context);
  } catch (thrown) {
    // Whether it throws its exception or returns it, the client gets it.
    return thrown;
  }
}
