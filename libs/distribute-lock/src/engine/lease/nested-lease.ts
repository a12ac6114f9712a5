import type { Duration } from '../../options/values.js';
import { ForwardedLease } from './forwarded-lease.js';
import { type LeaseHandle, notDetachable, notDowngraded } from './lease-handle.js';
import type { LockCall } from './lock-call.js';

/** A reentrant lease: it holds the lease of the outer call in the same call chain, also after the outer call has released it. */
export class NestedLease extends ForwardedLease<LeaseHandle> {
  private released: Promise<void> | undefined;
  left = false;

  /** @param outer - the lease of the outer call */
  constructor(
    outer: LeaseHandle,
    private readonly call: LockCall,
  ) {
    super(outer);
    outer.nest(call);
  }

  isHeld(): boolean {
    return !this.left && this.inner.isProven();
  }

  remainingMs(): number {
    return this.left ? 0 : this.inner.provenMs();
  }

  async extend(ttl?: Duration): Promise<void> {
    if (this.left) throw this.inner.lostError('the inner call released it before extend() was called', 'released');
    await this.inner.extendHold(ttl);
  }

  /** Only the outer call may give up the right to write. */
  async downgrade(): Promise<void> {
    throw notDowngraded(this.inner.call, 'the outer call holds the lock; downgrade its lease instead');
  }

  /** The outer call still works under the lease. */
  async detach(): Promise<string> {
    throw notDetachable(this.inner.call, 'the outer call holds the lock; detach its lease instead');
  }

  /** The outer call continues. */
  forgotten(): void {
    if (!this.left) void this.release();
  }

  /** Releases the lock only if neither the outer call nor another nested call still holds it. */
  release(): Promise<void> {
    this.left = true;
    return (this.released ??= this.inner.unnest(this.call));
  }
}
