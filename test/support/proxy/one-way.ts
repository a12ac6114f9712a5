import type { Socket } from 'node:net';

/** Bytes, or the end of the stream (`undefined`), and the time at which they may pass. */
interface Passage {
  readonly bytes: Buffer | undefined;
  readonly dueAt: number;
}

/** Carries one direction of a connection, in order. */
export class OneWay {
  private delayMs = 0;
  private jitterMs = 0;
  private holding = false;
  private readonly passages: Passage[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly to: Socket) {}

  get holds(): boolean {
    return this.passages.some(({ bytes }) => bytes !== undefined);
  }

  push(bytes: Buffer | undefined): void {
    const last = this.passages.at(-1)?.dueAt ?? 0;
    const delayMs = this.delayMs + (Math.random() * 2 - 1) * this.jitterMs;
    this.passages.push({ bytes, dueAt: Math.max(last, performance.now() + delayMs) });
    this.pass();
  }

  /** Delays later bytes by `ms`, plus or minus up to `jitterMs`. 0 lets all bytes pass at once. */
  delay(ms: number, jitterMs = 0): void {
    this.delayMs = ms;
    this.jitterMs = jitterMs;
    this.pass();
  }

  hold(): void {
    this.holding = true;
    clearTimeout(this.timer);
  }

  /** Lets the held bytes pass, in order. */
  resume(): void {
    this.holding = false;
    this.pass();
  }

  /** Discards the held bytes and all later ones. */
  stop(): void {
    this.hold();
    this.passages.length = 0;
  }

  private pass(): void {
    clearTimeout(this.timer);
    while (!this.holding) {
      const next = this.passages[0];
      if (next === undefined) return;
      const inMs = this.delayMs + this.jitterMs === 0 ? 0 : next.dueAt - performance.now();
      if (inMs > 0) {
        this.timer = setTimeout(() => this.pass(), inMs);
        return;
      }
      this.passages.shift();
      if (this.to.destroyed) continue;
      if (next.bytes === undefined) this.to.end();
      else this.to.write(next.bytes);
    }
  }
}
