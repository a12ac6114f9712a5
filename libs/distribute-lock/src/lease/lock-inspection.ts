/** A process that holds a lock. @public */
export interface LockHolderInfo {
  /** A name for the process that says nothing else about it, the same in every inspection. */
  readonly process: string;
  /** It is this very process. */
  readonly here: boolean;
  /** What its holders are called: class and method, or option `name`. Known of this process only; empty while an offer is on its way. */
  readonly names: readonly string[];
}

/** What was seen of a lock at one moment. It is advisory: by the time it is read it may be another. @public */
export interface LockInspection {
  readonly key: string;
  readonly held: boolean;
  /**
   * `'exclusive'` is a write lock too. `'foreign'`: a client that is not one of ours holds the key. `'free'`: nobody does,
   * and the next caller says what it is.
   */
  readonly kind: 'free' | 'exclusive' | 'read' | 'semaphore' | 'foreign';
  /** Of a semaphore: how many permits it has in all. */
  readonly permits?: number;
  /** Processes that hold it; one that holds several permits is named once for each lease. Empty for a foreign holder. */
  readonly holders: readonly LockHolderInfo[];
  /** Milliseconds until the last lease ends, unless it is renewed; 0 when it is free, -1 without an end. */
  readonly remainingMs: number;
  /** How many processes wait for it. */
  readonly waiting: number;
}
