import type { LockCall } from './lease/lock-call.js';

/**
 * Leases that outlast their work (`minHold`, `release: 'expire'`). Such a call counts from its start until its key may be free
 * again, so concurrent calls cannot keep more than `most` leases.
 */
export class KeptLeases {
  private readonly calls = new Set<LockCall>();

  constructor(readonly most: number) {}

  /** Whether the call would exceed the limit. */
  isFullFor(call: LockCall): boolean {
    return isKept(call) && this.calls.size >= this.most;
  }

  add(call: LockCall): void {
    if (isKept(call)) this.calls.add(call);
  }

  /** The call ended without a lease, or its lease is no longer kept. */
  drop(call: LockCall): void {
    if (this.calls.size > 0) this.calls.delete(call);
  }
}

function isKept({ options }: LockCall): boolean {
  return options.minHoldMs > 0 || options.release === 'expire';
}
