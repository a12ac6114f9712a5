import { setTimeout as sleep } from 'node:timers/promises';

const KEY = 'burst';

/**
 * One caller holds the lock while others start to wait for it, each once; then the holder releases it.
 *
 * @param between - called when all wait
 * @returns how many had the lock until the last one released it, or until `withinMs` had passed
 */
export async function burst(locks, { waiters, settleMs, withinMs, between = async () => undefined }) {
  const held = await locks.acquire(KEY);
  let handOffs = 0;
  const waiter = async () => {
    const mine = await locks.acquire(KEY);
    handOffs += 1;
    await locks.release(mine);
  };
  const all = Promise.all(Array.from({ length: waiters }, waiter));
  await sleep(settleMs);
  await between();
  const startedAt = performance.now();
  await locks.release(held);
  const late = new AbortController();
  await Promise.race([all, sleep(withinMs, undefined, { signal: late.signal, ref: true }).catch(() => undefined)]);
  late.abort();
  return { handOffs, tookMs: performance.now() - startedAt, complete: handOffs === waiters };
}
