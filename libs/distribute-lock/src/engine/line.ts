import type { Attempt } from './attempt.js';
import type { KeyQueue } from './key-queue.js';
import type { Waiter } from './waiter.js';

/**
 * Callers of this process that share one attempt in Redis, first in, first out. A `single` line has one caller with a separate
 * attempt (strict fairness).
 */
export class Line {
  first: Waiter | undefined = undefined;
  last: Waiter | undefined = undefined;
  size = 0;
  /** Number of callers that are willing to wait. */
  patient = 0;
  /** At most one attempt at a time is known to Redis; the next caller inherits it when the first one leaves. */
  attempt: Attempt | undefined = undefined;

  constructor(
    readonly queue: KeyQueue,
    readonly single: boolean,
  ) {}

  /** Whether a caller of the line is willing to wait. */
  get waits(): boolean {
    return this.patient > 0;
  }

  /** Adds an attempt; a run may have several. */
  begin(attempt: Attempt): void {
    this.attempt = attempt;
  }

  /** Removes an ended attempt. */
  end(_attempt: Attempt): void {
    this.attempt = undefined;
  }

  push(waiter: Waiter): void {
    waiter.line = this;
    waiter.before = this.last;
    if (this.last === undefined) this.first = waiter;
    else this.last.behind = waiter;
    this.last = waiter;
    this.size += 1;
    if (waiter.waits) this.patient += 1;
  }

  /** The waiter still gets the lock if it is free, but no longer waits for it. */
  giveUp(waiter: Waiter): void {
    if (waiter.waits) this.patient -= 1;
    waiter.givenUp = true;
  }

  /** Whether the lock may be free: no answer of the store says otherwise, and this process does not hold it. */
  get mayBeFree(): boolean {
    const { lane } = this.queue;
    return this.attempt?.answered === false && (lane === 'semaphore' || this.queue.grants().length === 0);
  }

  /** @returns whether the waiter was in this line */
  remove(waiter: Waiter): boolean {
    if (waiter.line !== this) return false;
    if (waiter.before === undefined) this.first = waiter.behind;
    else waiter.before.behind = waiter.behind;
    if (waiter.behind === undefined) this.last = waiter.before;
    else waiter.behind.before = waiter.before;
    waiter.line = waiter.before = waiter.behind = undefined;
    this.size -= 1;
    if (waiter.waits) this.patient -= 1;
    return true;
  }
}
