import type { LeaseHandle } from '../../libs/distribute-lock/src/lease/lease-handle.js';
import type { Question } from './questions.js';
import type { SimulatedProcess } from './simulated-process.js';

/** A lease in the hands of a caller. */
export class Hold {
  released = false;
  told = false;
  /** It was seen not to be valid. */
  over = false;
  /** It has begun to turn from a writer into a reader: it writes no more. */
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
