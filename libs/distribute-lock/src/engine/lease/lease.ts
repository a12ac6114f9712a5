import type { Duration } from '../../options/values.js';
import { INSPECT } from '../../runtime/inspect-symbol.js';

/** Options of {@link Lease.detach}. @public */
export interface DetachOptions {
  /** How long the keys stay locked without a call of `attach()` or `cancel()`; 50 ms to 24 hours. */
  readonly ttl: Duration<'or duration(text)'>;
}

/**
 * The time-limited right to a lock, as the code that holds it sees it.
 *
 * The lease guarantees exclusion only while `isHeld()` is true. A paused process may notice the end late, so a protected
 * resource should reject a `fencingToken` smaller than the largest one it has seen.
 * @public
 */
export abstract class Lease implements AsyncDisposable {
  /** The key of the lock; for a multi-key lease, the first key in order of acquisition. */
  abstract readonly key: string;
  /** All keys of the lease, in order of acquisition. */
  abstract readonly keys: readonly string[];
  /**
   * Rises with every grant of the key; readers that share a lease share its token. A safe integer. A multi-key lease reports its largest token, so that no resource has seen
   * a larger one for any of the keys. For a resource that is also written under one key alone, use the token of that key.
   */
  abstract readonly fencingToken: number;
  /** The fencing token of each key. */
  abstract readonly fencingTokens: ReadonlyMap<string, number>;
  /**
   * Aborts when the lease ends before it is released; the reason is a `LeaseLostError` or `LockShutdownError`. Its listeners run
   * outside of any call or request.
   */
  abstract readonly signal: AbortSignal;
  /** Whether the lease is provably held at this moment. */
  abstract isHeld(): boolean;
  /** Milliseconds for which the lease can be proven without another renewal; 0 when it is not held. */
  abstract remainingMs(): number;
  /**
   * Extends the lease to at least `ttl` from now, but not beyond `maxHold`, and uses `ttl` for later renewals. It never shortens
   * the lease. Concurrent changes of a lease run one after the other.
   * @throws LeaseLostError when the lease is no longer held
   * @throws LockUnavailableError when Redis did not confirm the extension; the lease is unchanged
   * @throws LockShutdownError when the shutdown ended the lease during the call
   */
  abstract extend(ttl?: Duration<'or duration(text)'>): Promise<void>;
  /**
   * Turns a write or exclusive lock into a read lock; no other writer can hold the lock in between. Stop writing before the call.
   * The fencing token stays the same, and waiting readers may enter. Does nothing on a read lock.
   * @throws LeaseLostError when the lease is no longer held or is lost during the call
   * @throws LockUnavailableError when Redis rejected the downgrade and the lease is unchanged, or when the connection was closed before
   * the reply and the lease is lost
   * @throws LockShutdownError when the shutdown ended the lease during the call
   * @throws LockUsageError on a semaphore, and on a connection without read locks
   */
  abstract downgrade(): Promise<void>;
  /**
   * Ends the lease in this process and keeps its keys locked for `ttl`, for a call in any process that passes the ticket to
   * `attach()`. Waiters continue to wait. The lease is over here: `isHeld()` is false, `signal` does not abort, and `release()` does
   * nothing. The ticket is a secret: the code that has it can take the lock over.
   *
   * @returns the ticket: at most 200 characters, safe in URLs, JSON and cookies
   * @throws LeaseLostError when the lease is no longer held, or is lost during the call
   * @throws LockUnavailableError when Redis rejected the call and the lease is unchanged, or when the process holds `maxKept` leases
   * that outlast their work
   * @throws LockUsageError on a read lock, in a nested call, beyond `maxHold`, and on a quorum
   */
  abstract detach(options: DetachOptions): Promise<string>;
  /** Releases the lock. Does nothing if the lease has ended; never rejects. */
  abstract release(): Promise<void>;
  /** Like {@link release}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** What a log shows of the lease: not its owner token, and not the engine. @internal */
  toJSON(): object {
    return { keys: this.keys, fencingToken: this.fencingToken, held: this.isHeld() };
  }

  /** @internal */
  [INSPECT](): object {
    return this.toJSON();
  }
}
