import type { LeaseHandle } from '../lease/lease-handle.js';
import type { LockCall } from '../lease/lock-call.js';
import { Timed } from '../runtime/timer-lanes.js';
import { hearAbort, ignoreAbort, type Hearer } from './abort-bell.js';
import type { Line } from './line.js';

/** Whom a waiter tells that its wait has ended before it got the lock. */
export interface WaiterKeeper {
  left(waiter: Waiter, why: 'aborted' | 'timed out'): void;
}

/** One caller that wants the lock and does not have it yet. It is settled once. */
export class Waiter extends Timed implements Hearer {
  line: Line | undefined = undefined;
  before: Waiter | undefined = undefined;
  behind: Waiter | undefined = undefined;
  /** The wait was ended: the caller gets the lock if it is free, and nothing else. */
  givenUp = false;

  constructor(
    private readonly keeper: WaiterKeeper,
    readonly call: LockCall,
    readonly since: number,
    readonly resolve: (lease: LeaseHandle) => void,
    readonly reject: (error: Error) => void,
  ) {
    super();
    const { signal, endsWait } = call;
    if (signal !== undefined) hearAbort(signal, this);
    if (endsWait === undefined || !this.waits) return;
    if (endsWait.aborted) this.givenUp = true;
    else hearAbort(endsWait, this);
  }

  get waits(): boolean {
    return this.call.options.waitMs > 0 && !this.givenUp;
  }

  /** Stops listening; whoever calls it settles the promise. */
  deaf(): void {
    const { signal, endsWait } = this.call;
    if (signal !== undefined) ignoreAbort(signal, this);
    if (endsWait !== undefined) ignoreAbort(endsWait, this);
  }

  /** One of the caller's signals aborted. */
  aborted(): void {
    this.keeper.left(this, 'aborted');
  }

  due(): void {
    this.keeper.left(this, 'timed out');
  }
}
