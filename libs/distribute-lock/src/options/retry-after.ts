import { type Duration, durationMs } from './values.js';

/** What is known when a caller does not get a lock. @public */
export interface RetryAfterInfo {
  /** Class and method, or option `name` of the call. */
  readonly name: string;
  readonly key: string;
  readonly kind: 'exclusive' | 'write' | 'read' | 'semaphore';
  /** The rest of the present lease, in milliseconds; `undefined` where it is not known. A renewed lease lasts longer. */
  readonly remainingMs: number | undefined;
  /** What `retryAfterMs` would be without this function. */
  readonly estimateMs: number;
}

/**
 * Replaces the estimate of when to try again: a duration, or a function that returns one.
 * @public
 */
export type RetryAfter = Duration | ((info: RetryAfterInfo) => Duration);

/** @throws LockConfigurationError when it is neither a duration above 0 nor a function */
export function checkRetryAfter(retryAfter: RetryAfter | undefined): void {
  if (retryAfter !== undefined && typeof retryAfter !== 'function') durationMs('retryAfter', retryAfter, 1);
}

/** What the option makes of an estimate. The estimate stands where a function throws or returns no duration. */
export function retryAfterMs(retryAfter: RetryAfter | undefined, info: RetryAfterInfo): number {
  if (retryAfter === undefined) return info.estimateMs;
  try {
    return durationMs('retryAfter', typeof retryAfter === 'function' ? retryAfter(info) : retryAfter, 1);
  } catch {
    return info.estimateMs;
  }
}
