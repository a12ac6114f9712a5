import type { LeaseLostError } from '../errors.js';
import { Grant } from './lease/grant.js';
import type { Holder } from './lease/holder.js';
import type { LeaseHandle, LeaseKeeper } from './lease/lease-handle.js';
import type { LockCall } from './lease/lock-call.js';
import type { Clock } from '../runtime/clock.js';
import type { TokenKind } from '../runtime/owner-token.js';
import type { Timers } from '../runtime/timers.js';
import type { LockMessage, LockStoreListener } from '../store/lock-store.js';
import { OFFERED_NUMBERS, OFFERED_PERMIT_NUMBERS } from '../store/protocol.js';
import { Asking, type AskingListener } from './asking.js';
import type { Attempt } from './attempt.js';
import { coreParts, type CoreParts, type CoreSettings, droppedTokens } from './core-parts.js';
import { downgradeLease } from './downgrading.js';
import { Draining, type DrainReport } from './draining.js';
import { extendLease } from './extending.js';
import { GivingBack, type GivingListener } from './giving-back.js';
import type { Granted } from './granted.js';
import type { KeptLeases } from './kept-leases.js';
import type { KeyQueue } from './key-queue.js';
import type { ExclusiveQueue } from './lanes/exclusive-queue.js';
import type { Lane, LaneParts } from './lanes/lane.js';
import { laneOfKind, type Lanes, makeLanes } from './lanes/make-lanes.js';
import type { ReadQueue } from './lanes/read-queue.js';
import type { Line } from './line.js';
import { aborted, contended, shuttingDown } from './refusals.js';
import { keptMs } from './min-hold.js';
import { Registry } from './registry.js';
import { reportGone, reportLost, reportReleased } from './reports.js';
import { refuse } from './settling.js';
import { leftMs, timeUp } from './time-up.js';
import type { Waiter, WaiterKeeper } from './waiter.js';

/** All keys that this process holds or waits for. Connects callers, attempts and grants. */
export class KeyQueues implements LeaseKeeper, WaiterKeeper, AskingListener, GivingListener, LockStoreListener {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly queues = new Registry();
  private readonly parts: CoreParts;
  private readonly asking: Asking;
  private readonly giving: GivingBack;
  private readonly draining: Draining;
  readonly laneParts: LaneParts;
  private readonly lanes: Lanes;
  private callers = 0;
  /** Grants that a message revoked, while the store is asked for confirmation. */
  private readonly confirming = new Set<Grant>();

  constructor(settings: CoreSettings) {
    this.clock = settings.clock;
    this.parts = coreParts(settings, {
      lost: (grant) => this.grantLost(grant),
      undone: () => this.draining.look(),
      listener: this,
      settled: () => (this.waiting -= 1),
    });
    this.timers = this.parts.timers;
    this.asking = new Asking(this.parts, this);
    this.giving = new GivingBack(this.parts, this.asking, this, this);
    this.draining = new Draining(this.parts, this.queues, (queue, grant) => this.gone(queue, grant));
    this.laneParts = {
      core: this.parts,
      asking: this.asking,
      giving: this.giving,
      keeper: this,
      turnAway: (queue, waiter) => this.turnAway(queue, waiter),
    };
    this.lanes = makeLanes(this.laneParts);
  }

  /** Number of callers without a lease, for all keys. */
  get waiting(): number {
    return this.callers;
  }

  set waiting(callers: number) {
    const { store } = this.parts;
    if (callers === 0) store.messagesExpected?.(false);
    else if (this.callers === 0) store.messagesExpected?.(true);
    this.callers = callers;
  }

  waitingFor({ key, options }: LockCall): number {
    return this.queues.find(laneOfKind(options.kind), key)?.waiting ?? 0;
  }

  get kept(): KeptLeases {
    return this.parts.kept;
  }

  enter(waiter: Waiter): void {
    this.waiting += 1;
    this.kept.add(waiter.call);
    const { key, options } = waiter.call;
    const lane = laneOfKind(options.kind);
    const queue = this.queueOf(lane, key);
    this.laneOf(queue).enter(queue, waiter);
    if (waiter.waits && waiter.line !== undefined) this.parts.timers.add(waiter, options.waitMs, waiter.since);
  }

  left(waiter: Waiter, why: 'aborted' | 'timed out'): void {
    const { call, line, since } = waiter;
    if (line === undefined) return;
    if (why === 'aborted' && call.signal?.aborted !== true && line.mayBeFree) return this.giveUp(waiter, line);
    refuse(this.parts, waiter, why === 'aborted' ? aborted(call) : timeUp(this.parts, call, line, since));
    this.laneOf(line.queue).moved(line);
    this.changed(line.queue);
  }

  /** The client left before the first answer of the store, which decides whether the caller has to wait at all. */
  private giveUp(waiter: Waiter, line: Line): void {
    line.giveUp(waiter);
    if (line.attempt !== undefined) this.asking.hurry(line.attempt);
  }

  granted(line: Line, granted: Granted, isContended: boolean, now: number): void {
    const { queue } = line;
    const { ownerToken, ttlMs, sentAt, fencingToken, block, waiting } = granted;
    const grant = new Grant(this.parts.watchdog, queue.key, ownerToken, ttlMs, sentAt, fencingToken, block, waiting);
    if (granted.offeredUntil !== undefined) grant.beginUnconfirmed(granted.offeredUntil);
    // An offer does not say whether other processes wait, except for permits.
    grant.contended ||= isContended || (grant.unconfirmed && queue.lane !== 'semaphore');
    // A holder learns of waiters and of a forced release only through the subscription.
    void this.parts.mailbox.ready();
    this.laneOf(queue).granted(line, grant, now);
    queue.tidy();
  }

  passed(line: Line): void {
    this.laneOf(line.queue).moved(line);
  }

  changed(queue: KeyQueue): void {
    if (queue.idle) this.queues.remove(queue);
    this.draining.look();
  }

  message({ type, key, ownerToken, fencingToken, block, contended: isContended }: LockMessage): void {
    if (!this.parts.tokens.issued(ownerToken) || !hasNumbers(fencingToken, block)) return this.unreadable();
    const queue = this.queues.ofToken(key, ownerToken);
    const attempt = queue?.attemptOf(ownerToken);
    const grant = queue?.grantOf(ownerToken);
    if (attempt !== undefined) {
      if (isContended === true) attempt.contended = true;
      if (type === 'granted') this.asking.offered(attempt, fencingToken, block);
      else if (type === 'contended') {
        attempt.contended = true;
        queue?.othersCame();
      }
    } else if (queue !== undefined && grant !== undefined) {
      if (type === 'contended') this.laneOf(queue).contended(queue, grant);
      else if (type === 'revoked') void this.revoked(grant);
    } else if (queue?.isReleasing(ownerToken) !== true) {
      // A late offer to a caller that has left. A token is used once, so no other lock depends on it.
      this.parts.abandoned.abandon({ key, ownerToken }, 0);
    }
  }

  private async revoked(grant: Grant): Promise<void> {
    if (this.parts.confirmOffers) {
      if (this.confirming.has(grant)) return this.unreadable();
      this.confirming.add(grant);
      const holds = await this.holds(grant);
      this.confirming.delete(grant);
      if (holds) return this.unreadable();
    }
    this.parts.watchdog.lose(grant, { reason: 'forced' });
  }

  /** Whether the grant still holds the lock; true if the store does not answer. */
  private async holds({ key, ownerToken }: Grant): Promise<boolean> {
    const state = await this.parts.store.inspect?.(key).catch(() => undefined);
    return state === undefined || state.holders.includes(ownerToken);
  }

  unreadable(): void {
    this.parts.foreignMessages.add();
  }

  unsubscribed(): void {
    this.parts.mailbox.changed(false);
    for (const attempt of this.attempts()) this.asking.poll(attempt);
  }

  resubscribed(): void {
    this.parts.mailbox.changed(true);
    for (const attempt of this.attempts()) {
      attempt.awaitsMessage = false;
      this.asking.ask(attempt);
    }
  }

  dropped(count: number): void {
    this.parts.events.emit(droppedTokens(count));
  }

  giveBack(lease: LeaseHandle, before?: Promise<void>): Promise<void> {
    if (before !== undefined) return this.giving.after(before, () => this.giveBack(lease));
    const { key, grant } = lease;
    const queue = this.queues.ofToken(key, grant.ownerToken);
    const isGone = queue?.grantOf(grant.ownerToken) !== grant || this.parts.watchdog.isOver(grant);
    if (isGone) reportGone(lease);
    if (isGone) this.kept.drop(lease.call);
    if (isGone) return Promise.resolve();
    const { heldMs } = lease;
    const { name } = lease.call;
    this.parts.holds.record(name, Math.max(heldMs, keptMs(lease)));
    if (!lease.lost) reportReleased(this.parts.events, lease.call, heldMs);
    const lane = this.laneOf(queue);
    if (lease.mayBeKept && this.draining.keeps(queue, lease, () => void lane.ended(queue, lease)))
      return Promise.resolve();
    this.kept.drop(lease.call);
    queue.replace(grant, lease, undefined);
    return lane.ended(queue, lease) ?? Promise.resolve();
  }

  extend(lease: LeaseHandle, ttlMs: number): Promise<void> {
    return extendLease(this.parts, lease, ttlMs);
  }

  downgrade(lease: LeaseHandle): Promise<void> {
    const writing = this.queues.ofToken(lease.key, lease.grant.ownerToken) as ExclusiveQueue;
    const reading = this.queueOf('read', lease.key) as ReadQueue;
    return downgradeLease(this.laneParts, this.lanes, { writing, reading }, (queue) => this.changed(queue), lease);
  }

  lost(lease: LeaseHandle, error: LeaseLostError): void {
    const { call, heldMs } = lease;
    if (!lease.mayBeKept) this.kept.drop(call);
    reportLost(this.parts.events, call, heldMs, error);
  }

  heldLong(lease: LeaseHandle): void {
    const { key, grant, call, heldMs } = lease;
    const queue = this.queues.ofToken(key, grant.ownerToken);
    const waiting = Math.max(queue?.waiting ?? 0, (queue?.waitingInMemory ?? 0) + grant.waitingElsewhere);
    this.parts.events.emit({ type: 'held-long', name: call.name, heldMs, waiting });
  }

  holderOf(key: string, ownerToken: string): Holder | undefined {
    return this.queues.ofToken(key, ownerToken)?.grantOf(ownerToken)?.holder;
  }

  refuseAll(): void {
    for (const queue of this.queues.all()) {
      for (const line of queue.lines()) {
        while (line.first !== undefined) refuse(this.parts, line.first, shuttingDown(line.first.call));
      }
      for (const attempt of queue.attempts()) this.asking.abandon(attempt);
      this.changed(queue);
    }
  }

  drain(timeoutMs: number, report: DrainReport): Promise<void> {
    return this.draining.drain(timeoutMs, report);
  }

  stop(): void {
    this.parts.abandoned.close();
    this.parts.timers.close();
    for (const queue of this.queues.all()) for (const grant of queue.grants()) this.parts.watchdog.guardEnd(grant);
  }

  queueOf(lane: TokenKind, key: string): KeyQueue {
    const known = this.queues.find(lane, key);
    if (known !== undefined) return known;
    const made = this.lanes[lane].newQueue(key);
    this.queues.add(made);
    return made;
  }

  private attempts(): Attempt[] {
    return this.queues.all().flatMap((queue) => queue.attempts());
  }

  private grantLost(grant: Grant): void {
    const { key, ownerToken, ttlMs } = grant;
    const queue = this.queues.ofToken(key, ownerToken);
    this.parts.abandoned.abandon({ key, ownerToken }, ttlMs);
    if (queue?.grantOf(ownerToken) === grant) this.gone(queue, grant);
  }

  private gone(queue: KeyQueue, grant: Grant): void {
    queue.drop(grant);
    this.laneOf(queue).bereft(queue);
    this.changed(queue);
  }

  private turnAway(queue: KeyQueue, waiter: Waiter): void {
    const { call } = waiter;
    const retryAfterMs = this.parts.retries.of(call, leftMs(queue, this.clock.now()), queue);
    refuse(this.parts, waiter, contended(call, retryAfterMs));
  }

  private laneOf(queue: KeyQueue): Lane {
    return this.lanes[queue.lane];
  }
}

/** Whether the fencing tokens of a message, if any, are valid and no more than an offer may carry. */
function hasNumbers(first: number | undefined, block = OFFERED_NUMBERS): boolean {
  if (block < 1 || block > OFFERED_PERMIT_NUMBERS) return false;
  return first === undefined || (Number.isSafeInteger(first) && Number.isSafeInteger(first + block));
}
