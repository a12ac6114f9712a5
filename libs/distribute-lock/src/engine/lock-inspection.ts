import type { LockState } from '../store/lock-store.js';

/** A process that holds a lock. @public */
export interface LockHolderInfo {
  /** An opaque name of the process, the same in every inspection. */
  readonly process: string;
  /** Whether it is this process. */
  readonly here: boolean;
  /**
   * Names of the holders: class and method, or the `name` option. Only known for this process; empty while an offer is in
   * transit.
   */
  readonly names: readonly string[];
}

/** A snapshot of a lock. It is advisory: the lock may change before the caller reads it. @public */
export interface LockInspection {
  readonly key: string;
  readonly held: boolean;
  /**
   * `'exclusive'` includes write locks. `'foreign'`: a client that does not use this package holds the key. `'free'`: the key is
   * not held, and the next caller determines the kind.
   */
  readonly kind: LockState['kind'];
  /** Number of permits of a semaphore. */
  readonly permits?: number;
  /** Processes that hold the lock; a process appears once for each semaphore lease. Empty for a foreign holder. */
  readonly holders: readonly LockHolderInfo[];
  /** Milliseconds until the last lease ends unless it is renewed; 0 when free, -1 when the key has no expiry. */
  readonly remainingMs: number;
  /** Number of waiting processes. */
  readonly waiting: number;
}
