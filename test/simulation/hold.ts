import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { PendingCall } from './pending-calls.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { World } from './world.js';

/** A lease of a caller. */
export class Hold {
  released = false;
  notified = false;
  /** A check saw that the lease is invalid. */
  over = false;
  /** The record shows it. */
  recorded = false;
  /** The recorded end of its proof. */
  until = 0;
  /** Whether the server has the lock; undefined before it has lost it. */
  onServer: boolean | undefined;
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

  /** Until when the lease is proven; undefined if it is not. */
  provenUntil({ timeline }: World): number | undefined {
    const remainingMs = this.lease.remainingMs();
    return remainingMs === 0 ? undefined : timeline.now + this.process.realMs(remainingMs);
  }
}
