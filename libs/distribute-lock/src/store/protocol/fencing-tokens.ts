import { nowMs, time } from './clock.js';
import { counterKey } from './counter-key.js';
import { redis } from './server.js';
import { fenceMs } from './settings.js';
import { decimalOf, digits, markParts, sixDigits, toNumber } from './host.js';

/** Counters from this number on are rejected, because later tokens would not be safe integers. */
export const FENCE_LIMIT = 9_007_199_250_000_000;

/** The last token that was issued, in this call or before; undefined until the counter is read. */
let lastToken: number | undefined;
/** The number that the counter has; undefined if it must be written again. */
let saved: number | undefined;
/** The mark of instances with one counter per lock, if the shared counter has one: `~<end in ms>`. */
let mark = '';

/** A new call begins. In Redis each call starts without a counter. */
export function forgetCounter(): void {
  lastToken = undefined;
  saved = undefined;
  mark = '';
}

/** The value of a counter of fencing tokens; undefined if it is invalid. */
export function fenceNumber(text: string | false): number | undefined {
  const number = text === false ? 0 : decimalOf(text);
  if (number === undefined || number < 0 || number >= FENCE_LIMIT || number !== Math.floor(number)) return undefined;
  return number;
}

export function refuseFence(key: string): never {
  throw { err: `BADFENCE The fencing counter is not a safe whole number. Delete the key "${key}".` };
}

/** Writes the counter and returns its previous value. */
function swapFence(text: string): string | false {
  const marked = text + mark;
  if (fenceMs !== undefined) return redis.call('SET', counterKey, marked, 'PX', fenceMs, 'GET') as string | false;
  return redis.call('SET', counterKey, marked, 'GET') as string | false;
}

/** Reads a counter that is not a number: it has a mark, which stays until its end, or it is invalid. */
function markedNumber(before: string): number {
  const [text, endsAt] = markParts(before);
  const number = text === undefined ? undefined : fenceNumber(text);
  if (number === undefined) {
    swapFence(before);
    return refuseFence(counterKey);
  }
  if (nowMs() < toNumber(endsAt)) mark = '~' + endsAt;
  return number;
}

/**
 * Issues `count` fencing tokens and returns the first. They end at the server's clock in microseconds or start after the
 * last issued number, whichever is larger. They increase even after the counter is lost, because numbers are issued more
 * slowly than the clock runs. If another counter may have issued numbers for the same lock, they start at the clock
 * instead.
 */
export function fencingTokens(count: number): number {
  if (lastToken === undefined) {
    // One command reads and writes the counter. It writes the clock, because the counter is rarely ahead of it.
    const now = time();
    const text = now[0] + (now[1].length === 6 ? now[1] : sixDigits(now[1]));
    const before = swapFence(text);
    let issued = fenceNumber(before);
    if (issued === undefined) issued = markedNumber(before as string);
    lastToken = issued;
    const clock = toNumber(text);
    const isMarked = mark !== '';
    saved = clock;
    if ((fenceMs !== undefined || isMarked) && lastToken < clock) {
      lastToken = clock + count - 1;
      // The counter is written again, with its mark.
      if (isMarked) saved = undefined;
      return clock;
    }
    if (lastToken <= clock - count) {
      lastToken = clock;
      return clock - count + 1;
    }
  }
  const first = lastToken + 1;
  lastToken = first + count - 1;
  return first;
}

/** Counts a token as issued: later tokens of this call are larger. */
export function raiseTo(issued: number): void {
  if (lastToken === undefined || lastToken < issued) lastToken = issued;
}

/** Writes the counter at the end of a call, if its number changed. */
export function saveFence(): void {
  if (lastToken !== undefined && lastToken !== saved) swapFence(digits(lastToken));
}
