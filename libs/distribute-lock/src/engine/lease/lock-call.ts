import type { CallTrace } from '../../channels.js';
import type { ResolvedLockOptions } from '../../options/lock-options.js';

/** A request for one lock, or for several locks: all or none. */
export interface LockRequest extends Omit<LockCall, 'key' | 'multiKey'> {
  /** Several keys are in ascending order, without repetition. */
  readonly key: string | readonly string[];
}

/** Whether the request is for one lock. */
export const isForOneKey = (request: LockRequest): request is LockCall => typeof request.key === 'string';

/** One request for a lock with resolved options. */
export interface LockCall {
  readonly key: string;
  /** Label for errors and events: class and method, or the `name` of a `LockService` call. Never the whole key. */
  readonly name: string;
  readonly options: ResolvedLockOptions;
  /**
   * The lease ends with a piece of work (`withLock`, a decorated method), so shutdown waits for the work instead of ending the
   * lease.
   */
  readonly scoped: boolean;
  /** Its hold lasts as long as the process, so it is never reported as long. */
  readonly leads?: boolean;
  /** Aborts the call while it has no lease. */
  readonly signal?: AbortSignal | undefined;
  /** Ends only the wait: a free lock is still granted after this signal has aborted. */
  readonly endsWait?: AbortSignal | undefined;
  /** The call takes the lock from its holders. */
  readonly steal?: boolean;
  /** The call needs other keys too, and its work starts when all keys are held. */
  readonly multiKey?: boolean;
  /** How long the lease had been held before it came to this process, milliseconds. */
  readonly heldBeforeMs?: number;
  /** Set while the diagnostics channels have subscribers. */
  readonly trace?: CallTrace | undefined;
}
