import type { Attempt } from './attempt.js';
import type { KeyQueue } from './key-queue.js';
import type { Waiter } from './waiter.js';

/**
 * Callers of this process that share one attempt in Redis, first come first served. In strict fairness every caller
 * has a line of its own.
 */
export class Line {
  first: Waiter | undefined = undefined;
  last: Waiter | undefined = undefined;
  size = 0;
  /** At most one attempt at a time is known to Redis; it is inherited when the first caller leaves. */
  attempt: Attempt | undefined = undefined;

  constructor(
    readonly queue: KeyQueue,
    readonly strict: boolean,
  ) {}

  /** Whether anybody here would wait; a caller that would not stands alone. */
  get waits(): boolean {
    return this.size > 1 || this.first?.waits === true;
  }

  push(waiter: Waiter): void {
    waiter.line = this;
    waiter.before = this.last;
    if (this.last === undefined) this.first = waiter;
    else this.last.behind = waiter;
    this.last = waiter;
    this.size += 1;
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
    return true;
  }
}
