import { setTimeout as delay } from 'node:timers/promises';

/** Calls `attempt` until it does not throw, and returns its result. For assertions that become true soon. */
export async function eventually<T>(attempt: () => T | Promise<T>, withinMs = 5_000): Promise<T> {
  const until = performance.now() + withinMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() >= until) throw error;
    }
    await delay(10);
  }
}

/** Rejects when `promise` does not settle in time. `what` is its name in the message. */
export async function within<T>(withinMs: number, what: string, promise: Promise<T>): Promise<T> {
  const abort = new AbortController();
  const late = delay(withinMs, undefined, { signal: abort.signal }).then(
    () => Promise.reject(new Error(`${what} took longer than ${withinMs} ms`)),
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    abort.abort();
  }
}
