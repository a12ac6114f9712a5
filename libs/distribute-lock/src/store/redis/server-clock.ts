/**
 * Upper bound of the server's clock, estimated from replies that carry it. A reply cannot be written before its command was
 * sent, so the server's clock is at most `serverMs - sentAt` ahead of the monotonic clock of this process.
 */
export class ServerClock {
  private offsetMs: number | undefined = undefined;

  /** @param sentAt - when the command was sent, on the monotonic clock */
  observe(serverMs: number, sentAt: number): void {
    this.offsetMs = serverMs - sentAt;
  }

  /** The server's clock at `at` on the monotonic clock, at the latest; `undefined` while it is unknown. */
  latest(at: number): number | undefined {
    return this.offsetMs === undefined ? undefined : Math.ceil(this.offsetMs + at);
  }

  /** Another server may answer from now on. */
  forget(): void {
    this.offsetMs = undefined;
  }
}
