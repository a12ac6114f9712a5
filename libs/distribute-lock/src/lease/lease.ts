import type { Duration } from '../options/values.js';

/**
 * The time-limited right to a lock, as the code that holds it sees it.
 *
 * It promises exclusion only while `isHeld()`; a process that was stopped may find out late, so a protected resource
 * should reject a `fencingToken` smaller than the largest it has seen.
 * @public
 */
export interface Lease extends AsyncDisposable {
  /** The key as it was asked for; of several, the first in their order. */
  readonly key: string;
  /** Every key that it stands for, in the order in which they are taken. */
  readonly keys: readonly string[];
  /**
   * Rises with every grant of the key; a safe integer. Of several keys it is the largest of their numbers, so that no resource
   * of one of them has seen a larger one. A resource that is written under one of the keys alone, too, should be given the
   * number of that key.
   */
  readonly fencingToken: number;
  /** The number of each key. */
  readonly fencingTokens: ReadonlyMap<string, number>;
  /**
   * Aborts, with a `LeaseLostError` or `LockShutdownError` as reason, when the lease ends before it was released. Its listeners are
   * called outside of every call and request.
   */
  readonly signal: AbortSignal;
  /** Whether the lease is provably held at this very moment. */
  isHeld(): boolean;
  /** Milliseconds for which the lease is proven without another renewal; 0 when it is not held. */
  remainingMs(): number;
  /**
   * Lengthens the lease to at least `ttl` from now, and makes that its ttl for later renewals; it never shortens it. Changes of a
   * lease that are asked for together are made one after the other.
   * @throws LeaseLostError when the lease is no longer held
   * @throws LockUnavailableError when Redis did not confirm it; the lease is as it was
   */
  extend(ttl?: Duration): Promise<void>;
  /**
   * Turns a write lock (or an exclusive one) into a read lock, without a moment in which somebody else may write: from the
   * call on, write no more. The number stays; readers that wait come in too. Harmless on a read lock.
   * @throws LeaseLostError when the lease is no longer held, or was lost meanwhile
   * @throws LockUnavailableError when Redis refused it; the lease is as it was
   * @throws LockUsageError on a semaphore, and where read locks are not offered
   */
  downgrade(): Promise<void>;
  /** Gives the lock back. Harmless when it was given back or lost before; never rejects. */
  release(): Promise<void>;
}
