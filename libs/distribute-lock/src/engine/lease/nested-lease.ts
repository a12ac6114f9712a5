import type { Duration } from '../../options/values.js';
import { type LeaseHandle, notDetachable, notDowngraded } from './lease-handle.js';
import { Lease } from './lease.js';
import type { LockCall } from './lock-call.js';

/** A reentrant lease: it holds the lease of the outer call in the same call chain, also after the outer call has released it. */
export class NestedLease extends Lease {
  private released: Promise<void> | undefined;
  left = false;

  constructor(
    readonly outer: LeaseHandle,
    private readonly call: LockCall,
  ) {
    super();
    outer.nest(call);
  }

  get key(): string {
    return this.outer.key;
  }

  get keys(): readonly string[] {
    return this.outer.keys;
  }

  get fencingToken(): number {
    return this.outer.fencingToken;
  }

  get fencingTokens(): ReadonlyMap<string, number> {
    return this.outer.fencingTokens;
  }

  get signal(): AbortSignal {
    return this.outer.signal;
  }

  isHeld(): boolean {
    return !this.left && this.outer.isProven();
  }

  remainingMs(): number {
    return this.left ? 0 : this.outer.provenMs();
  }

  async extend(ttl?: Duration): Promise<void> {
    if (this.left) throw this.outer.lostError('the inner call released it before extend() was called', 'released');
    await this.outer.extendHold(ttl);
  }

  /** Only the outer call may give up the right to write. */
  async downgrade(): Promise<void> {
    throw notDowngraded(this.outer.call, 'the outer call holds the lock; downgrade its lease instead');
  }

  /** The outer call still works under the lease. */
  async detach(): Promise<string> {
    throw notDetachable(this.outer.call, 'the outer call holds the lock; detach its lease instead');
  }

  /** The outer call continues. */
  forgotten(): void {
    if (!this.left) void this.release();
  }

  /** Releases the lock only if neither the outer call nor another nested call still holds it. */
  release(): Promise<void> {
    this.left = true;
    return (this.released ??= this.outer.unnest(this.call));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
