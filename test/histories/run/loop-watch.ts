import { monotonicMs } from '../../support/monotonic.js';

const TICK_MS = 10;
/** A shorter standstill is not recorded. */
const STANDSTILL_MS = 10;

/**
 * Calls `standstill` with the time since which the event loop did not turn: a blocked loop, a stopped process, or a
 * slow machine. Calls `tick` in each of its turns.
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
