import { Timed } from '../runtime/timer-lanes.js';
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
 * The one heartbeat of all callers of a key that have an attempt each (strict fairness). It asks for the attempt that was queued
 * first; the others sleep until a message, or until the reply says that the places of this process were lost. Otherwise it asks
 * for the attempt that was queued last as well, which leaves last, so that the store knows of a live process while one of them waits.
 */
export class SharedHeartbeat extends Timed {
  private first: Attempt | undefined = undefined;
  private last: Attempt | undefined = undefined;

  constructor(
    private readonly queue: KeyQueue,
    private readonly core: Pick<CoreParts, 'lanes' | 'clock'>,
    private readonly ask: (attempt: Attempt) => void,
  ) {
    super();
  }

  /** A new attempt is queued. */
  joined(attempt: Attempt): void {
    this.last = attempt;
  }

  /** The next heartbeat comes within this time, or earlier if one is due by then. */
  within(ms: number): void {
    const now = this.core.clock.now();
    if (this.lane === undefined || this.dueAt > now + ms) this.core.lanes.add(this, ms, now);
  }

  /** An attempt has left, and the store may not have heard of the others for a while. */
  left(): void {
    if (this.queue.longestQueued === undefined) return this.core.lanes.remove(this);
    const heardAt = Math.max(askedAt(this.first), askedAt(this.last));
    this.within(Math.max(0, heardAt + HEARTBEAT_MS - this.core.clock.now()));
  }

  /** The places of this process stand. */
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
    // Whatever becomes of the attempt, another one follows.
    this.core.lanes.add(this, HEARTBEAT_MS);
    first.asksForAll = true;
    this.ask(first);
  }
}

const askedAt = (attempt: Attempt | undefined): number => (attempt?.over === false ? attempt.askedAt : -Infinity);
