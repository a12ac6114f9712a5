import type { Grant } from '../lease/grant.js';
import { LeaseHandle } from '../lease/lease-handle.js';
import { HEARTBEAT_MS } from '../heartbeat.js';
import type { Line } from '../line.js';
import { contended } from '../refusals.js';
import { hand, refuseImpatient } from '../settling.js';
import type { Waiter } from '../waiter.js';
import { askAnew, type Lane, type LaneParts } from './lane.js';
import { ReadQueue } from './read-queue.js';
import { Readers } from './readers.js';
import { type Gatekeeper, Refresh, refuseLate } from './refresh.js';

/** A reader without renewal enters only while this share of its ttl is left. */
const UNRENEWED_SHARE = 0.9;

/** A shared lease is not shortened for a difference up to this. */
const SHORTEN_TOLERANCE_MS = 5;

/**
 * The read lock. Readers of one process share one lease, and entering it costs no command. While a writer waits, new readers wait
 * here until the lease is released or the writer has left.
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
    // The store granted another token of this process, so it has lost the previous grant.
    if (before !== undefined) this.parts.core.watchdog.lose(before, { reason: 'deleted' });
    this.open(queue, grant, grant.numbers.take());
    while (line.first !== undefined) this.letIn(queue, grant, line.first, now);
    this.shortenSoon(grant, now);
  }

  /** From now on readers may enter under this grant. */
  open(queue: ReadQueue, grant: Grant, fencingToken: number): void {
    queue.grant = grant;
    queue.fencingToken = fencingToken;
    grant.holder = new Readers();
  }

  /** Adds the lease of a writer that was downgraded. */
  join(queue: ReadQueue, lease: LeaseHandle): void {
    const grant = queue.grant!;
    lease.grant = grant;
    (grant.holder as Readers).add(lease);
    this.parts.core.watchdog.watch(grant);
  }

  /** Admits all readers that waited for this lease. */
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

  /** After the reader with the longest need has left, shortens the lease within a third of what the others need. */
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

  /** Admits the readers that may enter after a renewal that was sent at `sentAt`. */
  admit(queue: ReadQueue, grant: Grant, sentAt: number): void {
    const now = this.parts.core.clock.now();
    let waiter = queue.line.first;
    while (waiter !== undefined) {
      const { behind } = waiter;
      // No lease can be longer than one after a fresh renewal, so a reader from before it enters in any case.
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
