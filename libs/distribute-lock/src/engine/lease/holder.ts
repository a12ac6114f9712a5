import type { Grant } from './grant.js';
import type { Loss } from './loss.js';

/** A call that holds a lock. */
export interface LockHold {
  readonly name: string;
  /** On the monotonic clock. */
  readonly startedAt: number;
}

/** Leases that share one grant. Each has its own options. */
export interface SharedHold {
  /** When to shorten a lease that is longer than its holders need; `Infinity` for never. */
  shortenAt: number;
  /** How long a lease renewed at `now` must last to cover all holders. */
  needMs(now: number): number;
  /** When the first holder needs a renewal; `Infinity` if none does. */
  renewalAt(grant: Grant): number;
  /** When the first of their leases ends without another renewal. */
  validUntil(grant: Grant): number;
  /** Ends the leases that have expired at `now`. */
  endOverdue(grant: Grant, now: number): void;
}

/** The holder of a grant, as the watchdog sees it. */
export interface Holder {
  readonly shared?: SharedHold;
  readonly renew: boolean;
  /** The grant that a downgrade is about to replace: the store may have removed it already. */
  readonly leaving?: object;
  /** Renewal stops at this time on the monotonic clock. */
  readonly renewUntil: number;
  /** No renewal extends the lease beyond this time on the monotonic clock. */
  readonly leaseUntil: number;
  /** The calls that hold the grant. */
  readonly holds: readonly LockHold[];
  /** Start of the oldest hold that was not reported as long, on the monotonic clock; `Infinity` if there is none. */
  readonly unreportedSince: number;
  /** Reports each hold that began at or before `before` as long, once each. */
  reportLong(before: number): void;
  /** Called once, when the lease is lost. */
  lose(loss: Loss): void;
  /** Shutdown has waited long enough: ends the lease unless work depends on it. */
  shutDown(): void;
}
