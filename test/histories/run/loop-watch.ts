import { monotonicMs } from '../../fault/support/monotonic.js';

const TICK_MS = 20;
/** Shorter ones are part of every bound. */
const STANDSTILL_MS = 40;

/**
 * Calls `standstill` with the time since which the event loop did not turn, for whatever reason: a blocked loop, a stopped process,
 * a machine that gave it no time. Calls `tick` in each of its own turns.
 */
export function watchLoop(standstill: (from: number) => void, tick: () => void = () => {}): () => void {
  let last = monotonicMs();
  const timer = setInterval(() => {
    const now = monotonicMs();
    if (now - last > TICK_MS + STANDSTILL_MS) standstill(last);
    last = now;
    tick();
  }, TICK_MS);
  return () => clearInterval(timer);
}
