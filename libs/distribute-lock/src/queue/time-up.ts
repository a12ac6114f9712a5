import type { LockCall } from '../lease/lock-call.js';
import type { KeyQueue } from './key-queue.js';
import type { Line } from './line.js';
import { mute, unavailable, waitTimedOut } from './refusals.js';

/** A store that has said nothing for so long is in trouble; a shorter wait may have been shorter than a round trip. */
const MUTE_MS = 250;

/** A caller's time is up: somebody else has the lock, or nobody knows. */
export function timeUp(call: LockCall, { attempt, queue }: Line, since: number, now: number): Error {
  const waitedMs = now - since;
  const isMute = attempt?.answered === false && now - Math.max(since, attempt.since) >= MUTE_MS;
  const trouble = attempt?.lastError ?? (isMute ? mute(call) : undefined);
  return trouble === undefined ? waitTimedOut(call, waitedMs, leftMs(queue, now)) : unavailable(call, trouble);
}

/** When it may be worth asking again; -1 when nothing is known. */
export function leftMs(queue: KeyQueue, now: number): number {
  const ends = queue.grants().map(({ validUntil }) => Math.max(0, validUntil - now));
  return ends.length === 0 ? queue.holderLeftMs : Math.min(...ends);
}
