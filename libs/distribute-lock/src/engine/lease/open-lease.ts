import type { Duration } from '../../options/values.js';
import type { HeldLease } from './held-leases.js';
import { LeaseHandle } from './lease-handle.js';
import { Lease } from './lease.js';
import { MultiKeyLease } from './multi-key-lease.js';
import { NestedLease } from './nested-lease.js';

/**
 * The lease that `LockService.acquire()` returns. Nothing inside the package refers to it, so it is garbage-collected when the
 * application forgets it. The lease ends then, because no code can still release it.
 */
export class OpenLease extends Lease {
  constructor(readonly inner: Lease) {
    super();
    forgotten.register(this, inner);
  }

  get key(): string {
    return this.inner.key;
  }

  get keys(): readonly string[] {
    return this.inner.keys;
  }

  get fencingToken(): number {
    return this.inner.fencingToken;
  }

  get fencingTokens(): ReadonlyMap<string, number> {
    return this.inner.fencingTokens;
  }

  get signal(): AbortSignal {
    return this.inner.signal;
  }

  isHeld(): boolean {
    return this.inner.isHeld();
  }

  remainingMs(): number {
    return this.inner.remainingMs();
  }

  extend(ttl?: Duration): Promise<void> {
    return this.inner.extend(ttl);
  }

  downgrade(): Promise<void> {
    return this.inner.downgrade();
  }

  release(): Promise<void> {
    return this.inner.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

// It keeps the inner lease until the handle is collected, so that a release costs nothing.
const forgotten = new FinalizationRegistry<HeldLease>((lease) => {
  if (!lease.left) end(lease);
});

/** Ends the lease as lost, which notifies the listeners of the event and logs a warning. */
function end(lease: Lease): void {
  if (lease instanceof LeaseHandle) return lease.endOwn({ reason: 'forgotten' });
  if (lease instanceof MultiKeyLease) for (const part of lease.parts) end(part);
  // The outer call of a nested lease continues.
  else if (lease instanceof NestedLease) void lease.release();
}
