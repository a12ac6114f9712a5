import { isLockError } from '../../errors.js';
import { answerWith } from './error-payload.js';
import type { LockedCall } from './locked-method.js';

/**
 * What a call whose lock could not be had ends with, as `onContended` says.
 * @throws the error itself, where nothing else was asked for, or where it is not about contention
 */
export function answerContention(error: unknown, { spec, self, args }: LockedCall): unknown {
  if (!isLockError(error, 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT')) throw error;
  const { onContended, contendedStatus, name } = spec;
  if (contendedStatus !== undefined) answerWith(error, contendedStatus);
  if (onContended === 'throw') throw error;
  if (onContended === 'skip') return undefined;
  const { code, retryAfterMs } = error;
  return Reflect.apply(onContended, self, [{ name, code, retryAfterMs, error }, ...args]);
}
