import type { LockCall } from '../lease/lock-call.js';
import type { CoreParts } from './core-parts.js';
import type { KeyQueue } from './key-queue.js';
import type { Line } from './line.js';
import { mute, unavailable, waitTimedOut } from './refusals.js';

/** A store that has said nothing for so long is in trouble; a shorter wait may have been shorter than a round trip. */
const MUTE_MS = 250;

/** A caller's time is up: somebody else has the lock, or nobody knows. */
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

/** Of the attempt that asks for all single callers. */
const troubleOf = (queue: KeyQueue, single: boolean): Error | undefined =>
  single ? queue.longestQueued?.lastError : undefined;

/** When it may be worth asking again; -1 when nothing is known. */
export function leftMs(queue: KeyQueue, now: number): number {
  const ends = queue.grants().map(({ validUntil }) => Math.max(0, validUntil - now));
  return ends.length === 0 ? queue.holderLeftMs : Math.min(...ends);
}
