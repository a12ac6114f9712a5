import { outside } from './outside.js';

/** Ends a timer; harmless when it has fired. */
export type CancelTimer = () => void;

/** Time as the lock core sees it: monotonic, and replaceable in tests. Never the wall clock. */
export interface Clock {
  /** Monotonic milliseconds, with fractions. */
  now(): number;
  /** Calls back once after at least `delayMs`. The timer does not keep the process alive. */
  after(delayMs: number, callback: () => void): CancelTimer;
  /** Calls back in the next turn of the event loop, after pending I/O had its chance. */
  nextTurn(callback: () => void): void;
}

/** The clock of the process. Its timers are shared, so they belong to no call. */
export const processClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = outside(() => setTimeout(callback, delayMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
  nextTurn: (callback) => void outside(() => setImmediate(callback)),
};
