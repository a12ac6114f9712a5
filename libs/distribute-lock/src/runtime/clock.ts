import { outside } from './outside.js';

/** Cancels a timer; does nothing if it has fired. */
export type CancelTimer = () => void;

/** The monotonic time source of the lock engine, replaceable in tests. Never the wall clock. */
export interface Clock {
  /** Monotonic milliseconds, with fractions. */
  now(): number;
  /** Calls back once after at least `delayMs`. The timer does not keep the process alive. */
  after(delayMs: number, callback: () => void): CancelTimer;
  /** Calls back in the next turn of the event loop, after pending I/O. */
  nextTurn(callback: () => void): void;
}

/** The clock of the process. Its timers are shared, so they run outside of any call. */
export const processClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = outside(() => setTimeout(callback, delayMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
  nextTurn: (callback) => void outside(() => setImmediate(callback)),
};
