import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { PendingCall } from './pending-calls.js';
import type { SimulatedProcess } from './simulated-process.js';

/** A lease of a caller. */
export class Hold {
  released = false;
  notified = false;
  /** A check saw that the lease is invalid. */
  over = false;
  /** When the server lost the lease, and when the holder must know of it at the latest. */
  forgottenAt = -1;
  notifiedBy = 0;
  /** Its downgrade from writer to reader has started, so it no longer writes. */
  reads: boolean;

  constructor(
    readonly pendingCall: PendingCall,
    readonly lease: LeaseHandle,
  ) {
    this.reads = pendingCall.options.kind === 'read';
  }

  get process(): SimulatedProcess {
    return this.pendingCall.process;
  }

  get ownerToken(): string {
    return this.lease.grant.ownerToken;
  }
}
