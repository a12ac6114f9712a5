import { Timer } from '../runtime/timers.js';
import type { Attempt } from './attempt.js';
import type { CoreParts } from './core-parts.js';
import type { KeyQueue } from './key-queue.js';

/**
 * Every waiting process asks again after this time, in case a message was lost. It is shorter than the claim window, so that one
 * lost message does not cost a live waiter its place.
 */
export const HEARTBEAT_MS = 1_300;
export const HEARTBEAT_JITTER = 0.1;
/** A foreign holder does not announce its release, so waiters poll. */
const POLL_MS = 250;

/** After what time an attempt asks again that is queued behind a lease with `leftMs` left. */
export function askAgainInMs(parts: CoreParts, attempt: Attempt, leftMs: number, foreign: boolean): number {
  const { random, mailbox } = parts;
  attempt.awaitsMessage = false;
  if (foreign || !mailbox.open) return POLL_MS * (0.4 + 0.6 * random());
  const heartbeat = HEARTBEAT_MS * (1 - HEARTBEAT_JITTER + 2 * HEARTBEAT_JITTER * random());
  attempt.awaitsMessage = leftMs < 0 || heartbeat <= leftMs;
  return attempt.awaitsMessage ? heartbeat : leftMs + 1;
}

/**
 * The heartbeat that all callers of a key with `fair: 'strict'` share; each of them has an attempt. It asks for the attempt that
 * was queued first, while the others sleep until a message. If the store has lost the places of this process, all ask again.
 * Otherwise the heartbeat also asks for the attempt that was queued last. That attempt leaves last, so the store sees a live
 * process while one of them waits.
 */
export class SharedHeartbeat extends Timer {
  private first: Attempt | undefined = undefined;
  private last: Attempt | undefined = undefined;

  constructor(
    private readonly queue: KeyQueue,
    private readonly core: Pick<CoreParts, 'timers' | 'clock'>,
    private readonly ask: (attempt: Attempt) => void,
  ) {
    super();
  }

  /** A new attempt is queued. */
  joined(attempt: Attempt): void {
    this.last = attempt;
  }

  /** Ensures a heartbeat within this time. */
  within(ms: number): void {
    const now = this.core.clock.now();
    if (!this.isScheduled || this.dueAt > now + ms) this.core.timers.add(this, ms, now);
  }

  /** An attempt has left, and the store may not have had a command of the other attempts recently. */
  left(): void {
    if (this.queue.longestQueued === undefined) return this.core.timers.remove(this);
    const heardAt = Math.max(askedAt(this.first), askedAt(this.last));
    this.within(Math.max(0, heardAt + HEARTBEAT_MS - this.core.clock.now()));
  }

  /** The store has kept the places of this process. */
  askForLast(): void {
    const last = this.queue.shortestQueued;
    if (last === undefined || last === this.first) return;
    this.joined(last);
    this.ask(last);
  }

  due(): void {
    const first = this.queue.longestQueued;
    if (first === undefined) return;
    this.first = first;
    // The next heartbeat follows even if this attempt fails.
    this.core.timers.add(this, HEARTBEAT_MS);
    first.asksForAll = true;
    this.ask(first);
  }
}

const askedAt = (attempt: Attempt | undefined): number => (attempt?.over === false ? attempt.askedAt : -Infinity);
