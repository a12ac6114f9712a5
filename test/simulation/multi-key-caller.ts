import { orderedKeys } from '../../libs/distribute-lock/src/keys/check-key.js';
import type { MultiKeyLease } from '../../libs/distribute-lock/src/engine/lease/multi-key-lease.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import { Caller } from './caller.js';
import type { Hold } from './hold.js';
import type { PendingCall } from './pending-calls.js';

/** A multi-key caller; its call and its lease are recorded once per key. */
export class MultiKeyCaller extends Caller {
  protected override ops(label: string): Readonly<Record<string, string>> {
    return Object.fromEntries(this.plan.keys!.map((key) => [`${label}/${key}`, key]));
  }

  /** The order in which the keys are acquired, as in `LockService`. */
  protected order(): readonly string[] {
    return orderedKeys(this.plan.keys!, 'caller');
  }

  protected override acquire(label: string, signal: AbortSignal | undefined): Promise<Lease> {
    const { options, scoped } = this.plan;
    return this.process.engine.acquire({ key: this.order(), name: `${label}/`, options, scoped, signal });
  }

  protected override started(pendingCall: PendingCall, lease: Lease): Hold[] {
    const { parts } = lease as MultiKeyLease;
    return parts.map((part) => {
      const label = `${pendingCall.label}/${part.key}`;
      return this.world.ledger.started({ ...pendingCall, key: part.key, label }, part as LeaseHandle);
    });
  }
}
