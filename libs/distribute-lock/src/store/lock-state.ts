/** State of a lock key when the store read it; it may have changed since. @public */
export interface LockState {
  /** `free`: the lock has no holder. `foreign`: a client that does not use this package holds it. */
  readonly kind: 'free' | 'exclusive' | 'read' | 'semaphore' | 'foreign';
  /** Total number of permits, for a semaphore. */
  readonly permits?: number;
  /** Owner tokens that hold the lock or have an offer; for a foreign holder, the value of the key. */
  readonly holders: readonly string[];
  /** Milliseconds until the lease ends without renewal; 0 when the lock is free, -1 when the lease has no end. */
  readonly remainingMs: number;
  /** Number of waiting processes. */
  readonly waiting: number;
}

const SEMAPHORE = /^semaphore:(\d+)$/;

/** Kind and permits according to the value of a lock key. */
export function kindOfValue(value: string | undefined, isOurs: boolean): Pick<LockState, 'kind' | 'permits'> {
  if (value === undefined) return { kind: 'free' };
  if (value === 'readers') return { kind: 'read' };
  const permits = SEMAPHORE.exec(value)?.[1];
  if (permits !== undefined) return { kind: 'semaphore', permits: Number(permits) };
  return { kind: isOurs ? 'exclusive' : 'foreign' };
}
