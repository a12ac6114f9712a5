import type { LeaseHandle } from '../lease/lease-handle.js';
import type { LockCall } from '../lease/lock-call.js';
import { Timed } from '../runtime/timer-lanes.js';
import type { Line } from './line.js';

/** Whom a waiter tells that its wait has ended before it got the lock. */
export interface WaiterKeeper {
  left(waiter: Waiter, why: 'aborted' | 'timed out'): void;
}

/** One caller that wants the lock and does not have it yet. It is settled once. */
export class Waiter extends Timed {
  line: Line | undefined = undefined;
  before: Waiter | undefined = undefined;
  behind: Waiter | undefined = undefined;

  constructor(
    private readonly keeper: WaiterKeeper,
    readonly call: LockCall,
    readonly since: number,
    readonly resolve: (lease: LeaseHandle) => void,
    readonly reject: (error: Error) => void,
  ) {
    super();
    call.signal?.addEventListener('abort', this);
  }

  get waits(): boolean {
    return this.call.options.waitMs > 0;
  }

  /** Stops listening; whoever calls it settles the promise. */
  deaf(): void {
    this.call.signal?.removeEventListener('abort', this);
  }

  /** The caller's signal aborted. */
  handleEvent(): void {
    this.keeper.left(this, 'aborted');
  }

  due(): void {
    this.keeper.left(this, 'timed out');
  }
}
