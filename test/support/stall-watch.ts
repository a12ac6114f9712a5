import { monotonicMs } from './monotonic.js';

const EVERY_MS = 5;

/** Measures how late the machine runs timers, beside a bound in milliseconds. */
export class StallWatch {
  private longestMs = 0;
  private lastAt = monotonicMs();
  private readonly interval = setInterval(() => this.look(), EVERY_MS);

  /** The longest stall since the start. */
  stop(): number {
    this.look();
    clearInterval(this.interval);
    return this.longestMs;
  }

  private look(): void {
    const now = monotonicMs();
    this.longestMs = Math.max(this.longestMs, now - this.lastAt - EVERY_MS);
    this.lastAt = now;
  }
}
