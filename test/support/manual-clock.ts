import type { CancelTimer, Clock } from '../../libs/distribute-lock/src/runtime/clock.js';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Time that stands still until it is told to go on. */
export class ManualClock implements Clock {
  private time = 1_000;
  private readonly timers = new Set<Timer>();
  private turns: (() => void)[] = [];

  /** Timers that have not fired. */
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

  /** Runs what waits for the next turn of the event loop. */
  turn(): void {
    for (const callback of this.turns.splice(0)) callback();
  }

  /** Lets time pass, fires timers in their order, and lets promises settle behind each. */
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

  /** Moves the time without firing anything: a blocked event loop, or a process that was stopped. */
  jump(ms: number): void {
    this.time += ms;
  }
}

/** Lets everything run that only waits for promises. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}
