import type { LockOptions } from './generated/lock-options.js';
import { type Duration, durationMs } from './values.js';

/** Facts about a call that did not get its lock. @public */
export interface RetryAfterInfo {
  /** Class and method, or option `name` of the call; `other` above 200 names in a process. */
  readonly name: string;
  readonly key: string;
  readonly kind: NonNullable<LockOptions['kind']>;
  /** Remaining milliseconds of the current lease; `undefined` if unknown. A renewal extends the lease. */
  readonly remainingMs: number | undefined;
  /** The value of `retryAfterMs` without this function. */
  readonly estimateMs: number;
}

/**
 * Replaces the estimate of when to try again: a duration, or a function that returns one.
 * @public
 */
export type RetryAfter = Duration | ((info: RetryAfterInfo) => Duration);

/** @throws LockConfigurationError when the value is neither a duration above 0 nor a function */
export function checkRetryAfter(retryAfter: RetryAfter | undefined): void {
  if (retryAfter !== undefined && typeof retryAfter !== 'function') durationMs('retryAfter', retryAfter, 1);
}

/** Applies the option to an estimate. The estimate is used if the function throws or returns no duration. */
export function retryAfterMs(retryAfter: RetryAfter | undefined, info: RetryAfterInfo): number {
  if (retryAfter === undefined) return info.estimateMs;
  try {
    const chosen: unknown = typeof retryAfter === 'function' ? retryAfter(info) : retryAfter;
    // A promise is no duration, and its rejection would end the process.
    if (chosen instanceof Promise) chosen.catch(() => undefined);
    return durationMs('retryAfter', chosen as Duration, 1);
  } catch {
    return info.estimateMs;
  }
}
