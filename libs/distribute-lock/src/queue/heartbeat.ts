import type { Attempt } from './attempt.js';
import type { CoreParts } from './core-parts.js';

/**
 * Every waiting process asks again after this long, in case a message was lost. It is shorter than the claim window,
 * so that one lost message does not cost a live waiter its place.
 */
export const HEARTBEAT_MS = 1_300;
export const HEARTBEAT_JITTER = 0.1;
/** A foreign holder cannot tell us when it releases. */
const POLL_MS = 250;

/** When an attempt asks again that stands in the queue behind a lease of which `leftMs` is left. */
export function askAgainInMs(parts: CoreParts, attempt: Attempt, leftMs: number, foreign: boolean): number {
  const { random, mailbox } = parts;
  attempt.awaitsMessage = false;
  if (foreign || !mailbox.open) return POLL_MS * (0.4 + 0.6 * random());
  // Strict callers of one process stay in step, so that their questions share a command.
  const jitter = attempt.line.single ? 1 : 1 - HEARTBEAT_JITTER + 2 * HEARTBEAT_JITTER * random();
  const heartbeat = HEARTBEAT_MS * jitter;
  attempt.awaitsMessage = leftMs < 0 || heartbeat <= leftMs;
  return attempt.awaitsMessage ? heartbeat : leftMs + 1;
}
