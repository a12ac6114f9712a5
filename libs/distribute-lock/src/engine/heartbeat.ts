import { Timer, type Timers } from '../runtime/timers.js';
import type { Clock } from '../runtime/clock.js';
import type { EngineContext } from './context.js';
import type { Attempt, KeyState } from './key-state.js';

/**
 * Every waiting process asks again after this time, in case a message was lost. It is shorter than the claim window, so that one
 * lost message does not cost a live waiter its place.
 */
export const HEARTBEAT_MS = 1_300;
export const HEARTBEAT_JITTER = 0.1;
/** Longest time between two polls of a waiter while no message can arrive; the shortest is 40 % of it. A foreign holder sends none. */
const POLL_MS = 250;

/** After what time an attempt is sent again that is queued behind a lease with `leftMs` left. Records what it waits for. */
export function sleepMs({ random, inbox }: EngineContext, attempt: Attempt, leftMs: number, foreign: boolean): number {
  if (foreign || !inbox.open) {
    attempt.awaitMessage(false);
    return POLL_MS * (0.4 + 0.6 * random());
  }
  const heartbeat = HEARTBEAT_MS * (1 - HEARTBEAT_JITTER + 2 * HEARTBEAT_JITTER * random());
  const messageComes = leftMs < 0 || heartbeat <= leftMs;
  attempt.awaitMessage(messageComes);
  return messageComes ? heartbeat : leftMs + 1;
}

/**
 * The heartbeat that all callers of a key with `fair: 'strict'` share; each of them has an attempt. It sends the attempt that
 * was queued first, while the others sleep until a message. If the store has lost the places of this process, all are sent again.
 * Otherwise the heartbeat also sends the attempt that was queued last. That attempt leaves last, so the store sees a live
 * process while one of them waits.
 */
export class SharedHeartbeat extends Timer {
  private first: Attempt | undefined = undefined;
  private last: Attempt | undefined = undefined;

  constructor(
    protected readonly state: KeyState,
    protected readonly context: { readonly timers: Timers; readonly clock: Clock },
    protected readonly send: (attempt: Attempt) => void,
  ) {
    super();
  }

  /** A new attempt is queued. */
  joined(attempt: Attempt): void {
    this.last = attempt;
  }

  /** Ensures a heartbeat within this time. */
  within(ms: number): void {
    const now = this.context.clock.now();
    if (!this.isScheduled || this.dueAt > now + ms) this.context.timers.add(this, ms, now);
  }

  /** An attempt has left, and the store may not have had a command of the other attempts recently. */
  left(_attempt: Attempt): void {
    if (this.state.longestQueued === undefined) return this.context.timers.remove(this);
    const sentAt = Math.max(lastSentAt(this.first), lastSentAt(this.last));
    this.within(Math.max(0, sentAt + HEARTBEAT_MS - this.context.clock.now()));
  }

  /** The store has kept the places of this process. */
  sendLast(): void {
    const last = this.state.shortestQueued;
    if (last === undefined || last === this.first) return;
    this.joined(last);
    this.send(last);
  }

  /** The attempt that the heartbeat sends: the one that the store serves first. */
  protected next(): Attempt | undefined {
    return this.state.longestQueued;
  }

  due(): void {
    const first = this.next();
    if (first === undefined) return;
    this.first = first;
    // The next heartbeat follows even if this attempt fails.
    this.context.timers.add(this, HEARTBEAT_MS);
    first.speaksForAll = true;
    this.send(first);
  }
}

/** The heartbeat that all places of a semaphore share: one command of a process counts for all of them. */
export class PlacesHeartbeat extends SharedHeartbeat {
  /** The attempt that was sent for all places got a permit or was abandoned, so the next one asks how long to sleep. */
  override left(attempt: Attempt): void {
    if (!this.state.hasAttempt) this.context.timers.remove(this);
    else if (attempt.speaksForAll) this.due();
  }

  override sendLast(): void {}

  /** A run before that place may have got a place later, when its callers had none left. */
  protected override next(): Attempt | undefined {
    let first: Attempt | undefined;
    for (const attempt of this.state.attempts()) {
      if (attempt.queued && (first === undefined || attempt.since < first.since)) first = attempt;
    }
    return first;
  }
}

const lastSentAt = (attempt: Attempt | undefined): number => (attempt?.over === false ? attempt.lastSentAt : -Infinity);
