import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { Call } from './pending-calls.js';
import type { SimulatedProcess } from './simulated-process.js';

/** A lease of a caller. */
export class Hold {
  released = false;
  notified = false;
  /** Until when the lease was proven at the last check, in real time. */
  until = 0;
  /** A check saw that the lease is invalid. */
  over = false;
  /** When the server lost the lease, and when the holder must know of it at the latest. */
  forgottenAt = -1;
  notifiedBy = 0;
  /** Its downgrade from writer to reader has started, so it no longer writes. */
  reads: boolean;

  constructor(
    readonly call: Call,
    readonly lease: LeaseHandle,
    /** The lease of the call, which may have several keys. */
    readonly whole: Lease,
  ) {
    this.reads = call.options.kind === 'read';
  }

  /** Its call in the recorded history. */
  get op(): string {
    return this.call.label.split('/')[0];
  }

  get process(): SimulatedProcess {
    return this.call.process;
  }

  get ownerToken(): string {
    return this.lease.grant.ownerToken;
  }
}
