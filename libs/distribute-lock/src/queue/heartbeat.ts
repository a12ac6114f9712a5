import type { Clock } from '../runtime/clock.js';
import { Timed, type TimerLanes } from '../runtime/timer-lanes.js';
import type { Attempt } from './attempt.js';
import type { CoreParts } from './core-parts.js';
import type { KeyQueue } from './key-queue.js';

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
  const heartbeat = HEARTBEAT_MS * (1 - HEARTBEAT_JITTER + 2 * HEARTBEAT_JITTER * random());
  attempt.awaitsMessage = leftMs < 0 || heartbeat <= leftMs;
  return attempt.awaitsMessage ? heartbeat : leftMs + 1;
}

/**
 * The one heartbeat of all callers of a key that have an attempt each (strict fairness): it asks for the attempt that was queued
 * first. The others sleep until a message, or until the answer says that the places of this process were lost.
 */
export class SharedHeartbeat extends Timed {
  constructor(
    private readonly queue: KeyQueue,
    private readonly lanes: TimerLanes,
    private readonly clock: Clock,
    private readonly ask: (attempt: Attempt) => void,
  ) {
    super();
  }

  /** The next one comes within this time, or earlier if one is due by then. */
  within(ms: number, now: number): void {
    if (this.lane === undefined || this.dueAt > now + ms) this.lanes.add(this, ms, now);
  }

  /**
   * An attempt has ended, and the next one speaks for all. It may not have asked for long, and other processes take a process that has
   * not asked for a claim window for one that does not respond.
   */
  passOn(): void {
    const next = this.queue.longestQueued;
    if (next === undefined) return;
    const now = this.clock.now();
    this.within(Math.max(0, next.askedAt + HEARTBEAT_MS - now), now);
  }

  stop(): void {
    this.lanes.remove(this);
  }

  due(): void {
    const attempt = this.queue.longestQueued;
    if (attempt === undefined) return;
    // Whatever becomes of the attempt, another one follows.
    this.lanes.add(this, HEARTBEAT_MS);
    attempt.asksForAll = true;
    this.ask(attempt);
  }
}
