import type { Grant } from '../lease/grant.js';
import type { LeaseHandle } from '../lease/lease-handle.js';
import { Line } from '../line.js';
import { start } from '../settling.js';
import type { Waiter } from '../waiter.js';
import type { Lane, LaneParts } from './lane.js';
import { Run } from './run.js';
import { SemaphoreQueue } from './semaphore-queue.js';

/**
 * The semaphore: runs of waiters of this process, and any number of grants. A process keeps no permit that none of its holders
 * uses: a caller that needs many permits collects them in the queue of Redis.
 */
export class SemaphoreLane implements Lane {
  constructor(private readonly parts: LaneParts) {}

  newQueue(key: string): SemaphoreQueue {
    const queue: SemaphoreQueue = new SemaphoreQueue(key, () => this.report(queue, this.parts.core.clock.now()));
    return queue;
  }

  enter(queue: SemaphoreQueue, waiter: Waiter): void {
    const last = queue.lastRun?.last;
    // The store rejects a wrong number of permits at once; a queued caller would learn of it only when its turn comes.
    if (last !== undefined && last.call.options.permits !== waiter.call.options.permits) {
      return this.askAlone(queue, waiter);
    }
    if (!waiter.waits) {
      // This process may have permits or attempts while other permits are free.
      if (last?.line?.attempt?.seesHolder === true) this.parts.turnAway(queue, waiter);
      else this.askAlone(queue, waiter);
      return;
    }
    const now = this.parts.core.clock.now();
    const run = queue.runOf(waiter, now);
    run.push(waiter);
    const waitMs = queue.reportsIn(now);
    if (waitMs <= 0) this.report(queue, now);
    else if (!queue.reporting.isScheduled) this.parts.core.timers.add(queue.reporting, waitMs, now);
  }

  /** Requests the places that the runs lack. */
  private report(queue: SemaphoreQueue, now: number): void {
    const { asking } = this.parts;
    this.parts.core.timers.remove(queue.reporting);
    for (const run of queue.unreported(now)) {
      for (let missing = queue.missing(run, now); missing > 0; missing -= 1) asking.ask(asking.attempt(run));
    }
  }

  private askAlone(queue: SemaphoreQueue, waiter: Waiter): void {
    const { asking } = this.parts;
    const line = new Line(queue, true);
    line.push(waiter);
    asking.ask(asking.attempt(line));
  }

  granted(line: Line, grant: Grant, now: number): void {
    const queue = line.queue as SemaphoreQueue;
    const served = line instanceof Run ? queue.moveUp(line, grant.contended, now) : line;
    start(this.parts.core, this.parts.keeper, served.first!, grant, now);
    queue.add(grant);
    this.moved(line);
  }

  ended(queue: SemaphoreQueue, lease: LeaseHandle): Promise<void> | undefined {
    const given = this.parts.giving.giveOn(queue, lease);
    if (given === undefined) return undefined;
    if (lease.grant.contended) queue.handedOver(this.parts.core.clock.now());
    this.reportSoon(queue);
    return given;
  }

  /** After the last queued caller was served, reports the callers that came since, with callers that return now. */
  private reportSoon(queue: SemaphoreQueue): void {
    if (queue.isBehind || queue.waiting === 0) return;
    const { timers, clock } = this.parts.core;
    const now = clock.now();
    const waitMs = queue.reportsIn(now);
    if (waitMs <= 0) this.report(queue, now);
    else if (!queue.reporting.isScheduled || queue.reporting.dueAt > now + waitMs) {
      timers.add(queue.reporting, waitMs, now);
    }
  }

  /** Abandons the places that the line no longer needs. */
  moved(line: Line): void {
    const queue = line.queue as SemaphoreQueue;
    const attempts = line instanceof Run ? line.attempts : line.attempt === undefined ? [] : [line.attempt];
    for (const attempt of attempts.slice(line.size)) this.parts.asking.abandon(attempt);
    if (line.size === 0) queue.lastServed(this.parts.core.clock.now());
    queue.tidy();
    this.reportSoon(queue);
  }

  contended(queue: SemaphoreQueue): void {
    queue.othersCame();
  }

  bereft(queue: SemaphoreQueue): void {
    this.report(queue, this.parts.core.clock.now());
  }
}
