import { performance } from 'node:perf_hooks';
import * as timers from 'node:timers';

import { type Duration, durationMs } from '../options/values.js';
import type { CancelTimer, Clock } from '../runtime/clock.js';

/** As they were when this file was loaded: fake timers may put theirs into `node:timers`, too. */
const { clearTimeout, setImmediate, setTimeout } = timers;

/** The lock core rounds what it waits for up to whole milliseconds, twice. */
const ROUNDING_MS = 2;

interface Timer {
  readonly at: number;
  readonly fire: () => void;
  timeout: NodeJS.Timeout;
}

/**
 * The time of locks in a test. It goes on by itself as long as the process runs, and can be pushed forward. Fake timers of a test
 * runner do not touch it.
 */
export class TestClock implements Clock {
  private readonly timers = new Set<Timer>();
  private aheadMs = 0;

  now(): number {
    return performance.now() + this.aheadMs;
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const cancel = (): void => {
      clearTimeout(timer.timeout);
      this.timers.delete(timer);
    };
    const fire = (): void => {
      cancel();
      callback();
    };
    const timer: Timer = { at: this.now() + delayMs, fire, timeout: inReality(delayMs, fire) };
    this.timers.add(timer);
    return cancel;
  }

  nextTurn(callback: () => void): void {
    setImmediate(callback);
  }

  /** Lets `by` pass at once: timers fire in their order, and whatever waits for promises goes on behind each. */
  async advance(by: Duration): Promise<void> {
    const until = this.now() + durationMs('by', by) + ROUNDING_MS;
    for (;;) {
      await turned();
      const next = this.firstUntil(until);
      if (next === undefined) break;
      this.goTo(next.at);
      next.fire();
    }
    this.goTo(until);
    for (const timer of this.timers) this.setAgain(timer);
    await turned();
  }

  private firstUntil(until: number): Timer | undefined {
    const due = [...this.timers].filter(({ at }) => at <= until);
    return due.sort((one, other) => one.at - other.at)[0];
  }

  private goTo(at: number): void {
    this.aheadMs += Math.max(0, at - this.now());
  }

  private setAgain(timer: Timer): void {
    clearTimeout(timer.timeout);
    timer.timeout = inReality(timer.at - this.now(), timer.fire);
  }
}

function inReality(delayMs: number, callback: () => void): NodeJS.Timeout {
  return setTimeout(callback, delayMs).unref();
}

/** Everything that waits for promises only has gone on. */
function turned(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
