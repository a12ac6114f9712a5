import type { Attempt } from './attempt.js';
import type { KeyQueue } from './key-queue.js';
import type { Waiter } from './waiter.js';

/**
 * Callers of this process that share one attempt in Redis, first come first served. A single line is that of one caller,
 * with an attempt of its own (strict fairness).
 */
export class Line {
  first: Waiter | undefined = undefined;
  last: Waiter | undefined = undefined;
  size = 0;
  /** How many of them would wait. */
  patient = 0;
  /** At most one attempt at a time is known to Redis; it is inherited when the first caller leaves. */
  attempt: Attempt | undefined = undefined;

  constructor(
    readonly queue: KeyQueue,
    readonly single: boolean,
  ) {}

  /** Whether anybody here would wait. */
  get waits(): boolean {
    return this.patient > 0;
  }

  /** The attempt is that of the line, or one of several. */
  begin(attempt: Attempt): void {
    this.attempt = attempt;
  }

  /** It has one attempt less. */
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

  /** The waiter gets the lock if it is free, and does not wait for it any longer. */
  giveUp(waiter: Waiter): void {
    if (waiter.waits) this.patient -= 1;
    waiter.givenUp = true;
  }

  /** Whether the lock may be free: no answer of the store says otherwise, and this process does not hold it. */
  get mayBeFree(): boolean {
    const { lane } = this.queue;
    return this.attempt?.answered === false && (lane === 'semaphore' || this.queue.grants().length === 0);
  }

  /** @returns whether the waiter stood here */
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
