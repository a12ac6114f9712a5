import { surelyOverMs } from '../lease/grant.js';
import type { LeaseHandle } from '../lease/lease-handle.js';
import type { Reader } from './lanes/readers.js';
import { Timed } from '../runtime/timer-lanes.js';

/** How long the key of a lease must stay taken at least, though its work has ended. */
export function keptMs({ call: { options }, early }: LeaseHandle): number {
  const { minHoldMs, release, ttlMs } = options;
  if (early) return 0;
  return release === 'expire' ? Math.max(minHoldMs, surelyOverMs(ttlMs)) : minHoldMs;
}

/** Whether nothing need be done for that, because the key ends with its ttl. Readers share a lease that others may give back. */
export function endsByItself({ call: { options }, early, grant, lane, startedAt }: LeaseHandle): boolean {
  return options.release === 'expire' && !early && lane !== 'read' && startedAt + options.minHoldMs <= grant.endsAt;
}

/** Keeps the grant of a lease whose work has ended before it may be given back; renewed until then, whatever the work wanted. */
export class MinHold extends Timed implements Reader {
  readonly renew = true;
  readonly leaseUntil = Infinity;
  /** The work has ended. */
  readonly unreportedSince = Infinity;

  constructor(
    readonly lease: LeaseHandle,
    readonly renewUntil: number,
    private readonly over: (held: MinHold) => void,
  ) {
    super();
  }

  get startedAt(): number {
    return this.lease.startedAt;
  }

  get ttlMs(): number {
    return this.lease.ttlMs;
  }

  ownValidUntil(): number {
    return Infinity;
  }

  endOwn(): void {
    // No work depends on it.
  }

  get names(): readonly string[] {
    return this.lease.names;
  }

  reportLong(): void {
    // Kept on purpose.
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
