import type { LockCall } from '../lease/lock-call.js';

/**
 * Leases that outlast their work (`minHold`, `release: 'expire'`). Such a call counts from its beginning until its key may be free
 * again, so that calls that run side by side cannot keep more than `most` leases.
 */
export class KeptLeases {
  private readonly calls = new Set<LockCall>();

  constructor(readonly most: number) {}

  /** Whether one more call of that kind would be too many. */
  isFullFor(call: LockCall): boolean {
    return isKept(call) && this.calls.size >= this.most;
  }

  add(call: LockCall): void {
    if (isKept(call)) this.calls.add(call);
  }

  /** The call ended without a lease, or its lease is kept no longer. */
  drop(call: LockCall): void {
    if (this.calls.size > 0) this.calls.delete(call);
  }
}

function isKept({ options }: LockCall): boolean {
  return options.minHoldMs > 0 || options.release === 'expire';
}
