import type { Duration } from '../../options/values.js';
import { type LeaseHandle, notDowngraded } from './lease-handle.js';
import { Lease } from './lease.js';

/** A reentrant lease: it depends on the lease of the outer call in the same call chain. */
export class NestedLease extends Lease {
  private left = false;

  constructor(readonly outer: LeaseHandle) {
    super();
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
    return !this.left && this.outer.isHeld();
  }

  remainingMs(): number {
    return this.left ? 0 : this.outer.remainingMs();
  }

  async extend(ttl?: Duration): Promise<void> {
    if (this.left) throw this.outer.lostError('the inner call released it before extend() was called', 'released');
    await this.outer.extend(ttl);
  }

  /** Only the outer call may give up the right to write. */
  async downgrade(): Promise<void> {
    throw notDowngraded(this.outer.call, 'the outer call holds the lock; downgrade its lease instead');
  }

  /** Does not release the lock, because the outer call still holds it. */
  async release(): Promise<void> {
    this.left = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
