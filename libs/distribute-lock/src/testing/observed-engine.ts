import { LeaseHandle } from '../engine/lease/lease-handle.js';
import type { Lease } from '../engine/lease/lease.js';
import { isForOneKey, type LockCall, type LockRequest } from '../engine/lease/lock-call.js';
import { NestedLease } from '../engine/lease/nested-lease.js';
import { LockEngine } from '../engine/lock-engine.js';

/** A lease and its call. */
export interface GivenLease {
  readonly call: LockCall;
  readonly lease: Lease;
}

/** Limit of remembered leases before ended ones are removed. */
const MOST_ENDED = 1_000;

/** A lock engine that remembers its leases. */
export class ObservedEngine extends LockEngine {
  /** A test must not depend on the time of a garbage collection. */
  override readonly keepsForgotten = true;
  private readonly given = new Set<GivenLease>();

  override async acquire(call: LockRequest): Promise<Lease> {
    const lease = await super.acquire(call);
    // The leases of several keys come one by one.
    if (!isForOneKey(call) || lease instanceof NestedLease) return lease;
    if (this.given.size >= MOST_ENDED) this.forgetEnded();
    this.given.add({ call, lease });
    return lease;
  }

  /** The held leases, oldest first. */
  held(): readonly GivenLease[] {
    this.forgetEnded();
    return [...this.given];
  }

  /** Ends the leases of the key as if the key had been deleted. Returns whether there was one. */
  lose(key: string): boolean {
    const lost = this.held().filter(({ call }) => call.key === key);
    for (const { lease } of lost) if (lease instanceof LeaseHandle) this.keyDeleted(lease);
    return lost.length > 0;
  }

  private forgetEnded(): void {
    for (const each of this.given) if (!isHeld(each.lease)) this.given.delete(each);
  }
}

/** A nested call may hold the lease of an outer call that has ended. */
const isHeld = (lease: Lease): boolean => (lease instanceof LeaseHandle ? lease.isProven() : lease.isHeld());
