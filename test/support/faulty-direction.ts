import type { Socket } from 'node:net';

export type Direction = 'toServer' | 'toClient';

/** The current faults of all connections of a proxy. */
export interface Faults {
  readonly held: Set<Direction>;
  delayMs: number;
  jitterMs: number;
  /** The request whose reply the proxy discards. */
  swallow: { readonly request: RegExp; readonly swallowed: () => void } | undefined;
}

/** Bytes, or the end of the stream (`undefined`), and the time at which they may pass. */
interface Passage {
  readonly chunk: Buffer | undefined;
  readonly dueAt: number;
}

/** Carries bytes in one direction, in order. */
export class FaultyDirection {
  private readonly passages: Passage[] = [];
  private timer: NodeJS.Timeout | undefined;
  private lastDueAt = 0;

  constructor(
    private readonly to: Socket,
    private readonly faults: Faults,
    private readonly direction: Direction,
  ) {}

  push(chunk: Buffer | undefined): void {
    const { delayMs, jitterMs } = this.faults;
    const dueAt = performance.now() + Math.max(0, delayMs + (Math.random() * 2 - 1) * jitterMs);
    this.lastDueAt = Math.max(this.lastDueAt, delayMs + jitterMs === 0 ? 0 : dueAt);
    this.passages.push({ chunk, dueAt: this.lastDueAt });
    this.drain();
  }

  /** Forwards the bytes that are due, and schedules itself for the next ones. */
  drain(): void {
    clearTimeout(this.timer);
    while (!this.faults.held.has(this.direction)) {
      const next = this.passages[0];
      if (next === undefined) return;
      const inMs = next.dueAt - performance.now();
      if (inMs > 0) {
        this.timer = setTimeout(() => this.drain(), inMs);
        return;
      }
      this.passages.shift();
      if (this.to.destroyed) continue;
      if (next.chunk === undefined) this.to.end();
      else this.to.write(next.chunk);
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    this.passages.length = 0;
  }
}
