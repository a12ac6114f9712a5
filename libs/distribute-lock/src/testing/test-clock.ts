import { performance } from 'node:perf_hooks';
import * as timers from 'node:timers';

import { type Duration, durationMs } from '../options/values.js';
import type { CancelTimer, Clock } from '../runtime/clock.js';

/** The real timers: fake timers may replace those of `node:timers` later. */
const { clearTimeout, setImmediate, setTimeout } = timers;

/** The lock engine rounds delays up to whole milliseconds, twice. */
const ROUNDING_MS = 2;

interface PendingTimer {
  readonly at: number;
  readonly fire: () => void;
  timeout: NodeJS.Timeout;
}

/**
 * The clock of locks in a test. It follows real time and can be advanced. Fake timers of a test runner do not affect it.
 */
export class TestClock implements Clock {
  private readonly timers = new Set<PendingTimer>();
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
    const timer: PendingTimer = { at: this.now() + delayMs, fire, timeout: inReality(delayMs, fire) };
    this.timers.add(timer);
    return cancel;
  }

  nextTurn(callback: () => void): void {
    setImmediate(callback);
  }

  /** Advances the clock by `by`: timers fire in order, and promise callbacks run after each timer. */
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

  private firstUntil(until: number): PendingTimer | undefined {
    const due = [...this.timers].filter(({ at }) => at <= until);
    return due.sort((one, other) => one.at - other.at)[0];
  }

  private goTo(at: number): void {
    this.aheadMs += Math.max(0, at - this.now());
  }

  private setAgain(timer: PendingTimer): void {
    clearTimeout(timer.timeout);
    timer.timeout = inReality(timer.at - this.now(), timer.fire);
  }
}

function inReality(delayMs: number, callback: () => void): NodeJS.Timeout {
  return setTimeout(callback, delayMs).unref();
}

/** Resolves after all pending promise callbacks. */
function turned(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
