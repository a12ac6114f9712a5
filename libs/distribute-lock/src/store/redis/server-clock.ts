/** A deadline may be later than the end of the command's limit by this much, for clocks that drift apart. */
const MARGIN_MS = 50;
/** How often the clock is read again while commands are sent. */
const REFRESH_MS = 10_000;
/** After so long a bound is replaced by a looser one: clocks that differ by 0.05 % drift apart by 30 ms. */
const TIGHT_MS = 60_000;
/** A bound that is older proves nothing: they may differ by 0.3 s. */
const OLDEST_MS = 600_000;
/** No server's clock says this, so the command is refused, and the refusal carries the clock. */
const PASSED = 1;

/**
 * Upper bound of the server's clock, estimated from replies that carry it. A reply cannot be written before its command was
 * sent, so the server's clock is at most `serverMs - sentAt` ahead of the monotonic clock of this process. The bound is too high
 * by one round trip at most.
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

  /** A timely command was refused as too late: the clock was set forward, or another server answers. */
  correct(serverMs: number, sentAt: number): void {
    if (!Number.isFinite(serverMs)) return;
    this.offsetMs = serverMs - sentAt;
    this.observedAt = sentAt;
  }

  /** The server's clock at `at` on the monotonic clock, at the latest; `undefined` while it is unknown. */
  latest(at: number): number | undefined {
    if (this.offsetMs === undefined || at - this.observedAt > OLDEST_MS) return undefined;
    return Math.ceil(this.offsetMs + at);
  }

  /**
   * The server's clock when a command that was sent at `sentAt` is given up. A timely execution is never later. An execution that
   * is later than one round trip and the margin always is.
   */
  deadline(sentAt: number, limitMs: number): number {
    const latest = this.latest(sentAt);
    return latest === undefined ? PASSED : latest + limitMs + MARGIN_MS;
  }

  /** Whether it should be read again now; true once in ten seconds. */
  refreshes(now: number): boolean {
    if (now - this.refreshedAt < REFRESH_MS) return false;
    this.refreshedAt = now;
    return true;
  }

  /** Another server may answer from now on. */
  forget(): void {
    this.offsetMs = undefined;
  }
}
