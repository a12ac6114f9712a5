import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { Question } from './questions.js';
import type { SimulatedProcess } from './simulated-process.js';

/** A lease of a caller. */
export class Hold {
  released = false;
  told = false;
  /** A check saw that the lease is invalid. */
  over = false;
  /** Its downgrade from writer to reader has started, so it no longer writes. */
  reads: boolean;

  constructor(
    readonly question: Question,
    readonly lease: LeaseHandle,
  ) {
    this.reads = question.options.kind === 'read';
  }

  get process(): SimulatedProcess {
    return this.question.process;
  }

  get ownerToken(): string {
    return this.lease.grant.ownerToken;
  }
}
