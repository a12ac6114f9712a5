import type { Grant } from '../lease/grant.js';
import type { LeaseHandle } from '../lease/lease-handle.js';
import { Line } from '../line.js';
import { contended } from '../refusals.js';
import { refuseImpatient, start } from '../settling.js';
import type { Waiter } from '../waiter.js';
import { ExclusiveQueue } from './exclusive-queue.js';
import { askAnew, type Lane, type LaneParts } from './lane.js';

/** The exclusive lock, which is also the write lock. */
export class ExclusiveLane implements Lane {
  constructor(private readonly parts: LaneParts) {}

  newQueue(key: string): ExclusiveQueue {
    return new ExclusiveQueue(key);
  }

  enter(queue: ExclusiveQueue, waiter: Waiter): void {
    const { core, asking } = this.parts;
    if (!waiter.waits && queue.isTaken(core.clock.now())) return this.parts.turnAway(queue, waiter);
    const line = waiter.call.options.fair === 'strict' ? new Line(queue, true) : queue.line;
    line.push(waiter);
    if (line.attempt === undefined && (line.single || queue.grant === undefined)) asking.ask(asking.attempt(line));
    // A waiter behind a holder of this process must learn when another process waits.
    else if (line.waits) void core.mailbox.ready();
    // A non-waiting caller shares the outcome of the attempt.
    if (!waiter.waits && line.attempt !== undefined) asking.hurry(line.attempt);
  }

  granted(line: Line, grant: Grant, now: number): void {
    const queue = line.queue as ExclusiveQueue;
    const { core, keeper } = this.parts;
    const before = queue.grant;
    queue.grant = grant;
    // The store granted another token of this process, so it has lost the previous grant.
    if (before !== undefined) core.watchdog.lose(before, { reason: 'deleted' });
    start(core, keeper, line.first!, grant, now);
    grant.forgetSpentNumbers();
    const leftMs = Math.max(0, grant.validUntil - now);
    refuseImpatient(core, line, ({ call }) => contended(call, core.retries.of(call, leftMs, queue)));
  }

  ended(queue: ExclusiveQueue, lease: LeaseHandle): Promise<void> | undefined {
    return this.parts.giving.giveOn(queue, lease);
  }

  moved(line: Line): void {
    if (line.first === undefined && line.attempt !== undefined) this.parts.asking.abandon(line.attempt);
  }

  contended(_: ExclusiveQueue, grant: Grant): void {
    grant.contended = true;
  }

  bereft(queue: ExclusiveQueue): void {
    askAnew(this.parts, queue);
  }
}
