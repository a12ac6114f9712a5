import type { LeaseHandle } from './lease/lease-handle.js';
import type { LockCall } from './lease/lock-call.js';
import { Timer } from '../runtime/timers.js';
import { hearAbort, ignoreAbort, type Hearer } from './abort-bell.js';
import type { Line } from './line.js';

/** Notified when a wait ends without a lease. */
export interface WaiterKeeper {
  left(waiter: Waiter, why: 'aborted' | 'timed out'): void;
}

/** A caller that has no lease yet. It is settled once. */
export class Waiter extends Timer implements Hearer {
  line: Line | undefined = undefined;
  before: Waiter | undefined = undefined;
  behind: Waiter | undefined = undefined;
  /** The wait has ended: the caller gets the lock only if it is free. */
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

  /** Stops listening to the signals; does not settle the promise. */
  deaf(): void {
    const { signal, endsWait } = this.call;
    if (signal !== undefined) ignoreAbort(signal, this);
    if (endsWait !== undefined) ignoreAbort(endsWait, this);
  }

  aborted(): void {
    this.keeper.left(this, 'aborted');
  }

  due(): void {
    this.keeper.left(this, 'timed out');
  }
}
