import type { Loss } from './loss.js';

/** Who holds a grant at present: what the watchdog needs to know of it, and whom it tells. */
export interface Holder {
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
