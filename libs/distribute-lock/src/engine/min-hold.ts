import { surelyOverMs } from './lease/grant.js';
import type { LockHold } from './lease/holder.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import type { Reader } from './lanes/readers.js';
import { Timer } from '../runtime/timers.js';

/** The minimum time for which the key of a lease stays held, even after its work has ended. */
export function keptMs({ call: { options }, early }: LeaseHandle): number {
  const { minHoldMs, release, ttlMs } = options;
  if (early) return 0;
  return release === 'expire' ? Math.max(minHoldMs, surelyOverMs(ttlMs)) : minHoldMs;
}

/** Whether the ttl alone keeps the key for that time. Not for readers, whose shared grant another reader may release. */
export function endsByItself({ call: { options }, early, grant, lane, startedAt }: LeaseHandle): boolean {
  return options.release === 'expire' && !early && lane !== 'read' && startedAt + options.minHoldMs <= grant.endsAt;
}

/** Holds the grant of a lease whose work has ended, until it may be released. It is always renewed until then. */
export class MinHold extends Timer implements Reader {
  readonly renew = true;
  readonly leaseUntil = Infinity;
  /** The work has ended, so the hold is not reported as long. */
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

  get holds(): readonly LockHold[] {
    return this.lease.holds;
  }

  reportLong(): void {
    // The key is kept on purpose.
  }

  lose(): void {
    // No work depends on the lease; the next caller asks the store again.
  }

  shutDown(): void {
    // The key was left to its ttl when the drain began.
  }

  due(): void {
    this.over(this);
  }
}
