import type { Grant } from './grant.js';
import type { Loss } from './loss.js';

/** Holders that share one grant. Each has a lease of its own on it, with its own options. */
export interface SharedHold {
  /** When the lease became longer than its holders need, it is to be shortened at that moment; `Infinity`: it is not. */
  shortenAt: number;
  /** For how long a lease that is renewed at `now` has to last for all of them. */
  needMs(now: number): number;
  /** When the first of them wants the grant to be renewed; `Infinity`: none does. */
  renewalAt(grant: Grant): number;
  /** When the first of their leases ends without another renewal. */
  validUntil(grant: Grant): number;
  /** Ends those of their leases that have ended at `now`. */
  endOverdue(grant: Grant, now: number): void;
}

/** Who holds a grant at present: what the watchdog needs to know of it, and whom it tells. */
export interface Holder {
  readonly shared?: SharedHold;
  readonly renew: boolean;
  /** The grant that it is about to exchange for another: the store may not know it any more. */
  readonly leaving?: object;
  /** On the monotonic clock; renewal ends there. */
  readonly renewUntil: number;
  /** On the monotonic clock; no renewal lengthens the lease beyond it. */
  readonly leaseUntil: number;
  /** The names of the holders. */
  readonly names: readonly string[];
  /** When the oldest hold began that was not reported as long, on the monotonic clock; `Infinity` when there is none. */
  readonly unreportedSince: number;
  /** Reports each hold that began until `before` as long, once. */
  reportLong(before: number): void;
  /** Told once, when the lease is lost. */
  lose(loss: Loss): void;
  /** The application has waited long enough: gives the lease up, unless work depends on it. */
  shutDown(): void;
}
