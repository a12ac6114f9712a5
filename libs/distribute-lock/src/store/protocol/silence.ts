import { CLAIM_WINDOW_MS } from '../protocol.js';
import { nowMs } from './clock.js';
import { STAMPS } from './queue.js';
import { emptyTable, processPart, toNumber } from './host.js';

/**
 * Whether a waiter has made no attempt for a claim window. A waiting process makes at least one in that time, so this one
 * does not respond. Offers to its tokens would cost other waiters a claim window each. If it does respond later, its next
 * heartbeat queues its tokens again. The stamp repeats every 65.5 s, so an old token may count as live for a claim window.
 */
export function isSilent(score: string): boolean {
  const number = toNumber(score);
  const attemptedAt = (number - Math.floor(number)) * STAMPS;
  // Not `%`, which differs between Lua and JavaScript below 0.
  const since = nowMs() - attemptedAt;
  return since - Math.floor(since / STAMPS) * STAMPS >= CLAIM_WINDOW_MS;
}

/**
 * The processes of all tokens with a recent attempt; one token counts for all tokens of its process.
 * @param waiting - tokens and their scores, alternately
 * @param origin - a token of the caller, whose process responds
 */
export function liveProcesses(waiting: readonly string[], origin: string): Record<string, boolean | undefined> {
  const lives = emptyTable<boolean>();
  lives[processPart(origin)] = true;
  for (let i = 0; i < waiting.length; i += 2) {
    if (!isSilent(waiting[i + 1])) lives[processPart(waiting[i])] = true;
  }
  return lives;
}
