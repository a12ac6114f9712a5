import type { Lease } from '../lease/lease.js';
import type { LockCall } from '../lease/lock-call.js';
import { NestedLease } from '../lease/nested-lease.js';
import { LockCore } from '../queue/lock-core.js';

/** A lease and the call that it was given to. */
export interface GivenLease {
  readonly call: LockCall;
  readonly lease: Lease;
}

/** So many may have ended before anybody looks. */
const MOST_ENDED = 1_000;

/** A lock core that remembers which leases it has given. */
export class ObservedCore extends LockCore {
  private readonly given = new Set<GivenLease>();

  override async acquire(call: LockCall): Promise<Lease> {
    const lease = await super.acquire(call);
    if (lease instanceof NestedLease) return lease;
    if (this.given.size >= MOST_ENDED) this.forgetEnded();
    this.given.add({ call, lease });
    return lease;
  }

  /** Those that are held at this moment, oldest first. */
  held(): readonly GivenLease[] {
    this.forgetEnded();
    return [...this.given];
  }

  private forgetEnded(): void {
    for (const each of this.given) if (!each.lease.isHeld()) this.given.delete(each);
  }
}
