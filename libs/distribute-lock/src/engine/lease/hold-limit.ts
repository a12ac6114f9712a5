import { Timer, type Timers } from '../../runtime/timers.js';

/**
 * A hold with `maxHold` ends this much early, plus the share of its lease that cannot be proven. Its lease is still valid at that
 * moment.
 */
const EARLY_MS = 5;
const EARLY_SHARE = 0.01;
/** A busy process runs its timers late, so a long hold ends earlier by this share of `maxHold`, up to the limit. */
const LATE_TIMER_SHARE = 0.02;
const LATE_TIMER_LIMIT_MS = 20;

const earlyMs = (maxHoldMs: number, ttlMs: number): number =>
  EARLY_MS +
  Math.ceil(EARLY_SHARE * Math.min(ttlMs, maxHoldMs)) +
  Math.min(LATE_TIMER_LIMIT_MS, Math.floor(LATE_TIMER_SHARE * maxHoldMs));

/** The latest time at which a hold that began at `startedAt` ends. */
export const holdEnd = (startedAt: number, maxHoldMs: number, ttlMs: number): number =>
  maxHoldMs === Infinity ? Infinity : startedAt + maxHoldMs - earlyMs(maxHoldMs, ttlMs);

/** Ends the hold of one holder when its `maxHold` has passed. */
export class HoldLimit extends Timer {
  constructor(
    private readonly timers: Timers,
    endsInMs: number,
    readonly due: () => void,
  ) {
    super();
    timers.add(this, Math.max(0, Math.floor(endsInMs)));
  }

  cancel(): void {
    this.timers.remove(this);
  }
}
