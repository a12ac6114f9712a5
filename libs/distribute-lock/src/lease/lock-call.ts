import type { ResolvedLockOptions } from '../options/lock-options.js';

/** One request for a lock, everything resolved. */
export interface LockCall {
  readonly key: string;
  /** What messages and events call it: the key template, or the method of `LockService`. */
  readonly label: string;
  readonly options: ResolvedLockOptions;
  /**
   * The lease ends with a piece of work (`withLock`, a decorated method), so shutdown waits for the work
   * instead of taking the lease away.
   */
  readonly scoped: boolean;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** The work needs other keys too, and does not begin before they are there. */
  readonly joint?: boolean;
}
