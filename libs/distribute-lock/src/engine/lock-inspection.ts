import type { LockState } from '../store/lock-store.js';

/** A call that holds a lock. @public */
export interface LockHoldInfo {
  /** Class and method, or the `name` option. */
  readonly name: string;
  /** For how long it has held the lock, milliseconds. */
  readonly heldMs: number;
  readonly fencingToken: number;
}

/**
 * A process that holds a lock, or a detached lease. Host, process id and application come from its record in Redis, which lasts 10 minutes after a
 * crash. They are absent if the process lived for less than a second or may not write its record.
 * @public
 */
export interface LockHolderInfo {
  /** An opaque name of the process, the same in every inspection. */
  readonly process: string;
  /** Whether it is this process. */
  readonly here: boolean;
  /** The name of its host. */
  readonly host?: string;
  /** The process id that its host gave it. */
  readonly pid?: number;
  /** The name in its `package.json` if npm started it, otherwise the name of its working directory. */
  readonly application?: string;
  /** Whether the lease was detached: no process renews it, and a ticket continues it. Absent for other holders. */
  readonly detached?: true;
  /** Names of the {@link holds}. */
  readonly names: readonly string[];
  /**
   * Its calls that hold the lock, which the process itself names. Empty while an offer is in transit, or if the process does not
   * answer within 500 ms.
   */
  readonly holds: readonly LockHoldInfo[];
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
  /** Milliseconds until the last lease ends without a renewal; 0 when free, -1 without an end. */
  readonly remainingMs: number;
  /** Number of waiting processes. */
  readonly waiting: number;
}
