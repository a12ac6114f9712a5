import type { ResolvedLockOptions } from '../options/lock-options.js';

/** One request for a lock, everything resolved. */
export interface LockCall {
  readonly key: string;
  /** Labels errors and events: class and method, or option `name` of a call of `LockService`. Never the key. */
  readonly name: string;
  readonly options: ResolvedLockOptions;
  /**
   * The lease ends with a piece of work (`withLock`, a decorated method), so shutdown waits for the work
   * instead of taking the lease away.
   */
  readonly scoped: boolean;
  /** Ends the call while it has no lease. */
  readonly signal?: AbortSignal | undefined;
  /** Ends only a wait: a lock that is free is taken, though the signal has aborted. */
  readonly endsWait?: AbortSignal | undefined;
  /** The work needs other keys too, and does not begin before they are there. */
  readonly joint?: boolean;
}
