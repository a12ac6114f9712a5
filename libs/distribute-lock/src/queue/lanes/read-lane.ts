import type { Grant } from '../../lease/grant.js';
import { LeaseHandle } from '../../lease/lease-handle.js';
import { HEARTBEAT_MS } from '../heartbeat.js';
import type { Line } from '../line.js';
import { contended } from '../refusals.js';
import { hand, refuseImpatient } from '../settling.js';
import type { Waiter } from '../waiter.js';
import { askAnew, type Lane, type LaneParts } from './lane.js';
import { ReadQueue } from './read-queue.js';
import { Readers } from './readers.js';
import { type Gatekeeper, Refresh, refuseLate } from './refresh.js';

/** A reader that does not want renewal is let in only while it can have this share of its ttl. */
const UNRENEWED_SHARE = 0.9;

/** A lease that is longer than needed by no more than that is left alone. */
const SHORTEN_TOLERANCE_MS = 5;

/**
 * The read lock. Readers of one process share one lease; entering it costs no command. While a writer waits the gate is
 * closed: new readers wait here until the lease is given back, or until the writer has gone.
 */
export class ReadLane implements Lane, Gatekeeper {
  constructor(private readonly parts: LaneParts) {}

  newQueue(key: string): ReadQueue {
    return new ReadQueue(key);
  }

  enter(queue: ReadQueue, waiter: Waiter): void {
    const now = this.parts.core.clock.now();
    const { grant } = queue;
    if (grant !== undefined && this.mayEnter(grant, waiter, now)) return this.letIn(queue, grant, waiter, now);
    const isTurnedAway = grant === undefined ? queue.line.attempt?.seesHolder === true : grant.contended;
    if (!waiter.waits && isTurnedAway) return this.parts.turnAway(queue, waiter);
    queue.line.push(waiter);
    if (grant === undefined) this.ask(queue, waiter);
    else this.refresh(queue, grant.contended ? HEARTBEAT_MS : 0);
  }

  granted(line: Line, grant: Grant, now: number): void {
    const queue = line.queue as ReadQueue;
    const before = queue.grant;
    // Redis has another token of this process among the readers, so it has lost what the one before was told.
    if (before !== undefined) this.parts.core.watchdog.lose(before, { reason: 'deleted' });
    this.open(queue, grant, grant.numbers.take());
    while (line.first !== undefined) this.letIn(queue, grant, line.first, now);
    this.shortenSoon(grant, now);
  }

  /** Readers may come in under this grant. */
  open(queue: ReadQueue, grant: Grant, fencingToken: number): void {
    queue.grant = grant;
    queue.fencingToken = fencingToken;
    grant.holder = new Readers();
  }

  /** A writer has become a reader. */
  join(queue: ReadQueue, lease: LeaseHandle): void {
    const grant = queue.grant!;
    lease.grant = grant;
    (grant.holder as Readers).add(lease);
    this.parts.core.watchdog.watch(grant);
  }

  /** Those who waited for this lease come in together. */
  letAllIn(queue: ReadQueue): void {
    const grant = queue.grant!;
    const now = this.parts.core.clock.now();
    const { line } = queue;
    while (line.first !== undefined) this.letIn(queue, grant, line.first, now);
    this.moved(line);
    queue.tidy();
  }

  ended(queue: ReadQueue, lease: LeaseHandle): Promise<void> | undefined {
    if (queue.isHeld(lease.grant)) {
      this.shortenSoon(lease.grant, this.parts.core.clock.now());
      return undefined;
    }
    return this.parts.giving.release(queue, lease.grant, lease);
  }

  /** The reader that needed the longest lease has left: within a third of what the others need, it is shortened to that. */
  private shortenSoon(grant: Grant, now: number): void {
    const readers = grant.holder as Readers;
    const needMs = readers.needMs(now);
    if (grant.ended || grant.endsAt <= now + needMs + SHORTEN_TOLERANCE_MS) return;
    readers.shortenAt = Math.min(readers.shortenAt, now + needMs / 3);
    this.parts.core.watchdog.watch(grant, now);
  }

  moved(line: Line): void {
    if (line.first === undefined && line.attempt !== undefined) this.parts.asking.abandon(line.attempt);
  }

  contended(queue: ReadQueue, grant: Grant): void {
    grant.contended = true;
    queue.warnings += 1;
  }

  bereft(queue: ReadQueue): void {
    refuseLate(this.parts, queue);
    askAnew(this.parts, queue);
  }

  /** Lets those in who may, after a renewal that was sent at `sentAt`. */
  admit(queue: ReadQueue, grant: Grant, sentAt: number): void {
    const now = this.parts.core.clock.now();
    let waiter = queue.line.first;
    while (waiter !== undefined) {
      const { behind } = waiter;
      // What a fresh renewal leaves is all that a lease can be.
      if (waiter.since <= sentAt || this.mayEnter(grant, waiter, now)) this.letIn(queue, grant, waiter, now);
      waiter = behind;
    }
    if (queue.line.first !== undefined) this.refresh(queue, 0);
    queue.tidy();
  }

  turnAway(queue: ReadQueue): void {
    const { core } = this.parts;
    refuseImpatient(core, queue.line, ({ call }) => contended(call, core.retries.of(call, queue.holderLeftMs)));
  }

  private ask(queue: ReadQueue, { waits }: Waiter): void {
    askAnew(this.parts, queue);
    const { attempt } = queue.line;
    if (!waits && attempt !== undefined) this.parts.asking.hurry(attempt);
  }

  private mayEnter(grant: Grant, { call: { options } }: Waiter, now: number): boolean {
    const needsMs = options.ttlMs * (options.renew ? 0.5 : UNRENEWED_SHARE);
    return !grant.ended && !grant.contended && grant.validUntil - now >= needsMs;
  }

  private letIn(queue: ReadQueue, grant: Grant, waiter: Waiter, now: number): void {
    const { core, keeper } = this.parts;
    const lease = new LeaseHandle(keeper, grant, waiter.call, queue.fencingToken, Math.ceil(now));
    (grant.holder as Readers).add(lease);
    core.watchdog.watch(grant, now);
    hand(core, waiter, lease, now);
  }

  private refresh(queue: ReadQueue, withinMs: number): void {
    queue.refresh ??= new Refresh(this.parts, this, queue);
    queue.refresh.within(withinMs);
  }
}
