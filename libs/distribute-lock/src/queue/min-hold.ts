import type { Holder } from '../lease/holder.js';
import type { LeaseHandle } from '../lease/lease-handle.js';
import { Timed } from '../runtime/timer-lanes.js';

/** Keeps the grant of a lease whose work has ended before `minHold`; renewed until then, whatever the work wanted. */
export class MinHold extends Timed implements Holder {
  readonly renew = true;

  constructor(
    readonly lease: LeaseHandle,
    readonly renewUntil: number,
    private readonly over: (held: MinHold) => void,
  ) {
    super();
  }

  lose(): void {
    // Nobody works under it any more; the next caller asks anew.
  }

  shutDown(): void {
    // Left to its ttl when the drain began.
  }

  due(): void {
    this.over(this);
  }
}
