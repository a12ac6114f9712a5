/** What stands at a key at one moment; by the time it is read it may be another. @public */
export interface LockState {
  /** `free`: nobody has it. `foreign`: somebody who is not one of ours. */
  readonly kind: 'free' | 'exclusive' | 'read' | 'semaphore' | 'foreign';
  /** Of a semaphore: how many permits it has in all. */
  readonly permits?: number;
  /** Owner tokens that hold it, or were offered it; what a foreign holder wrote. */
  readonly holders: readonly string[];
  /** Milliseconds until it ends unless it is renewed; 0 when it is free, -1 without an end. */
  readonly remainingMs: number;
  /** Processes that wait. */
  readonly waiting: number;
}

const SEMAPHORE = /^semaphore:(\d+)$/;

/** What the value of a lock's key says. */
export function kindOfValue(value: string | undefined, isOurs: boolean): Pick<LockState, 'kind' | 'permits'> {
  if (value === undefined) return { kind: 'free' };
  if (value === 'readers') return { kind: 'read' };
  const permits = SEMAPHORE.exec(value)?.[1];
  if (permits !== undefined) return { kind: 'semaphore', permits: Number(permits) };
  return { kind: isOurs ? 'exclusive' : 'foreign' };
}
