import type { Duration } from '../../options/values.js';
import { endWhenCollected } from './collected.js';
import { ForwardedLease } from './forwarded-lease.js';
import { LeaseHandle } from './lease-handle.js';
import type { DetachOptions, Lease } from './lease.js';
import { MultiKeyLease } from './multi-key-lease.js';
import { NestedLease } from './nested-lease.js';

/**
 * The lease that `LockService.acquire()` returns. From the first renewal on, nothing inside the package refers to it, so it is
 * garbage-collected when the application forgets it. The lease ends then, because no code can still release it.
 */
export class OpenLease extends ForwardedLease<Lease> {
  constructor(inner: Lease) {
    super(inner);
    endWith(this, inner);
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

  detach(options: DetachOptions): Promise<string> {
    return this.inner.detach(options);
  }

  release(): Promise<void> {
    return this.inner.release();
  }
}

/** Ends `lease` when `handle` is collected. */
function endWith(handle: OpenLease, lease: Lease): void {
  if (lease instanceof LeaseHandle) lease.handle = handle;
  else if (lease instanceof MultiKeyLease) for (const part of lease.parts) endWith(handle, part);
  else if (lease instanceof NestedLease) endWhenCollected(handle, lease);
}
