import { Timer } from './timers.js';

/** The back-off: pauses between tries of a failed command; the last one repeats. */
const RETRY_MS = [50, 100, 200];
export const LONGEST_RETRY_MS = Math.max(...RETRY_MS);
/** Pause between attempts to subscribe on a server that is unavailable or rejects it. */
export const RESUBSCRIBE_MS = 2_000;

/** An operation that is retried until it succeeds. The delay grows with each consecutive failure. */
export abstract class Retry extends Timer {
  failures = 0;

  /** Counts a failure and returns the delay before the next try. */
  nextDelayMs(): number {
    const delayMs = RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)];
    this.failures += 1;
    return delayMs;
  }
}
