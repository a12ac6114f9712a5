import type { Duration } from '../options/values.js';
import type { LeaseHandle } from './lease-handle.js';
import type { Lease } from './lease.js';
import { notDowngraded } from './not-downgraded.js';

/** A lock that the call chain which holds it has entered again: it lives inside the lease of the outer call. */
export class NestedLease implements Lease {
  private left = false;

  constructor(readonly outer: LeaseHandle) {}

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

  /** What the outer call may still write to is not the inner one's to say. */
  async downgrade(): Promise<void> {
    throw notDowngraded(this.outer.call, 'the call around it holds the lock; downgrade the lease of that one');
  }

  /** The outer call still holds the lock. */
  async release(): Promise<void> {
    this.left = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
