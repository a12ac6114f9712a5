import type { Grant } from '../../lease/grant.js';
import type { LeaseHandle } from '../../lease/lease-handle.js';
import { Line } from '../line.js';
import { start } from '../settling.js';
import type { Waiter } from '../waiter.js';
import { askAnew, type Lane, type LaneParts } from './lane.js';
import { SemaphoreQueue } from './semaphore-queue.js';

/**
 * The semaphore: attempts of the process, and as many grants as it got. A process keeps no permit that none of
 * its holders uses: who asks for many collects them in the queue of Redis.
 */
export class SemaphoreLane implements Lane {
  constructor(private readonly parts: LaneParts) {}

  newQueue(key: string): SemaphoreQueue {
    return new SemaphoreQueue(key);
  }

  enter(queue: SemaphoreQueue, waiter: Waiter): void {
    const { last, attempt } = queue.line;
    // The store says which number of permits is right, at once; behind others it would be heard when it is their turn.
    if (last !== undefined && last.call.options.permits !== waiter.call.options.permits) {
      return this.askAlone(queue, waiter);
    }
    if (waiter.waits) {
      queue.line.push(waiter);
      return askAnew(this.parts, queue);
    }
    // That this process has permits, or asks for some, says nothing about others.
    if (attempt?.seesHolder === true) this.parts.turnAway(queue, waiter);
    else this.askAlone(queue, waiter);
  }

  private askAlone(queue: SemaphoreQueue, waiter: Waiter): void {
    const { asking } = this.parts;
    const line = new Line(queue, true);
    line.push(waiter);
    asking.ask(asking.attempt(line));
  }

  granted(line: Line, grant: Grant, now: number): void {
    const queue = line.queue as SemaphoreQueue;
    start(this.parts.core, this.parts.keeper, line.first!, grant, now);
    queue.add(grant);
    this.moved(queue.line);
  }

  ended(queue: SemaphoreQueue, lease: LeaseHandle): Promise<void> | undefined {
    return this.parts.giving.giveOn(queue, lease);
  }

  /** An attempt is inherited only by a caller that wants as many permits. */
  moved(line: Line): void {
    const queue = line.queue as SemaphoreQueue;
    for (const attempt of queue.surplus(line)) this.parts.asking.abandon(attempt);
    queue.promote();
    if (!line.single) askAnew(this.parts, queue);
  }

  contended(queue: SemaphoreQueue): void {
    for (const grant of queue.grants()) grant.contended = true;
  }

  bereft(queue: SemaphoreQueue): void {
    askAnew(this.parts, queue);
  }
}
