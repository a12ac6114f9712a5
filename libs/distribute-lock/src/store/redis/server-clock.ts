/** Margin of a deadline for clocks that drift apart. */
const MARGIN_MS = 50;
/** Interval at which the clock is read while commands are sent. */
const REFRESH_MS = 20_000;
/** After this time a looser bound replaces a tighter one: clocks that differ by 0.05 % drift apart by 30 ms. */
const TIGHT_MS = 60_000;
/** Maximum age of a bound: the clocks may then differ by 0.3 s. */
const OLDEST_MS = 600_000;
/** A deadline in the past: the server rejects the command, and the rejection carries its clock. */
const LONG_AGO = 1;

/**
 * Upper bound of the server's clock, estimated from replies that carry it. A reply cannot be written before its command
 * was sent. The server's clock is therefore at most `serverMs - sentAt` ahead of the monotonic clock of this process.
 * The bound is too high by at most one round trip.
 */
export class ServerClock {
  private offsetMs: number | undefined = undefined;
  private observedAt = -Infinity;
  private refreshedAt = -Infinity;

  /** @param sentAt - when the command was sent, on the monotonic clock */
  observe(serverMs: number, sentAt: number): void {
    this.refreshedAt = sentAt;
    const isTighter = this.offsetMs === undefined || serverMs - sentAt <= this.offsetMs;
    if (isTighter || sentAt - this.observedAt > TIGHT_MS) this.correct(serverMs, sentAt);
  }

  /** Adopts the clock from the rejection of a timely command: the clock was set forward, or another server answers. */
  correct(serverMs: number, sentAt: number): void {
    if (!Number.isFinite(serverMs)) return;
    this.offsetMs = serverMs - sentAt;
    this.observedAt = sentAt;
  }

  /** Latest possible time of the server's clock at `at` on the monotonic clock; `undefined` while it is unknown. */
  latest(at: number): number | undefined {
    if (this.offsetMs === undefined || at - this.observedAt > OLDEST_MS) return undefined;
    return Math.ceil(this.offsetMs + at);
  }

  /**
   * The server's clock when a command sent at `sentAt` reaches its limit. A timely execution is never later. An
   * execution that is late by more than one round trip and the margin is always later.
   */
  deadline(sentAt: number, limitMs: number): number {
    const latest = this.latest(sentAt);
    return latest === undefined ? LONG_AGO : latest + limitMs + MARGIN_MS;
  }

  /** Whether the clock should be read now; true once in twenty seconds. */
  refreshes(now: number): boolean {
    if (now - this.refreshedAt < REFRESH_MS) return false;
    this.refreshedAt = now;
    return true;
  }

  /** Forgets the bound, because another server may answer from now on. */
  forget(): void {
    this.offsetMs = undefined;
  }
}
