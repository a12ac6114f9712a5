import type { LockCall } from './lease/lock-call.js';
import type { CoreParts } from './core-parts.js';
import type { KeyQueue } from './key-queue.js';
import type { Line } from './line.js';
import { mute, unavailable, waitTimedOut } from './refusals.js';

/** A store without an answer for this long counts as unavailable; a shorter wait may be below one round trip. */
const MUTE_MS = 250;

/** The error when `wait` has passed: another holder has the lock, or the store did not answer. */
export function timeUp(
  { clock, retries }: CoreParts,
  call: LockCall,
  { attempt, queue, single }: Line,
  since: number,
): Error {
  const now = clock.now();
  const waitedMs = now - since;
  const isMute = attempt?.answered === false && now - Math.max(since, attempt.since) >= MUTE_MS;
  const trouble = attempt?.lastError ?? troubleOf(queue, single) ?? (isMute ? mute(call) : undefined);
  if (trouble !== undefined) return unavailable(call, trouble);
  return waitTimedOut(call, waitedMs, retries.of(call, leftMs(queue, now), queue));
}

/** The error of the attempt that asks for all single callers. */
const troubleOf = (queue: KeyQueue, single: boolean): Error | undefined =>
  single ? queue.longestQueued?.lastError : undefined;

/** Time after which a retry may succeed; -1 when unknown. */
export function leftMs(queue: KeyQueue, now: number): number {
  const ends = queue.grants().map(({ validUntil }) => Math.max(0, validUntil - now));
  return ends.length === 0 ? queue.holderLeftMs : Math.min(...ends);
}
