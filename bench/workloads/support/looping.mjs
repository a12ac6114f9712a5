/** The monotonic clock of the machine, so that holds of several processes are comparable. */
export const nowNs = () => Number(process.hrtime.bigint());

export const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Callers that acquire a lock repeatedly until the time is up. Returns the holds of each, as `[calledAt, from, to]` in ns.
 */
export async function loops(callers, { startAt, forMs }, once) {
  await delay(Math.max(0, startAt - Date.now()));
  const until = performance.now() + forMs;
  return Promise.all(
    Array.from({ length: callers }, async (_, i) => {
      const holds = [];
      while (performance.now() < until) holds.push(await once(i));
      return holds;
    }),
  );
}

/** One hold of a lock: how long its caller waited, and from when to when it was held. */
export async function hold(locks, key, kind, work) {
  const calledAt = nowNs();
  const held = await locks.acquire(key, kind);
  const from = nowNs();
  await work();
  const to = nowNs();
  await locks.release(held);
  return [calledAt, from, to];
}
