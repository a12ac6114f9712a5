import type { CancelTimer, Clock } from '../../libs/distribute-lock/src/runtime/clock.js';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that advances only when a test calls `pass()` or `jump()`. */
export class ManualClock implements Clock {
  private time = 1_000;
  private readonly timers = new Set<Timer>();
  private turns: (() => void)[] = [];

  /** Number of timers that have not fired. */
  get pending(): number {
    return this.timers.size;
  }

  now(): number {
    return this.time;
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const timer = { at: this.time + delayMs, callback };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  nextTurn(callback: () => void): void {
    this.turns.push(callback);
  }

  /** Runs the callbacks of the next turn of the event loop. */
  turn(): void {
    for (const callback of this.turns.splice(0)) callback();
  }

  /** Advances the time, fires timers in order, and lets promises settle after each. */
  async pass(ms: number): Promise<void> {
    const until = this.time + ms;
    for (;;) {
      await settled();
      const next = [...this.timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.timers.delete(next);
      this.time = Math.max(this.time, next.at);
      next.callback();
    }
    this.time = until;
    await settled();
  }

  /** Advances the time without firing timers, like a blocked event loop or a stopped process. */
  jump(ms: number): void {
    this.time += ms;
  }
}

/** Resolves after all pending promise callbacks. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}
