import { LeaseLostError } from '../errors/lease-lost.error.js';
import { Grant } from '../lease/grant.js';
import type { LeaseHandle, LeaseKeeper } from '../lease/lease-handle.js';
import type { LockCall } from '../lease/lock-call.js';
import type { Clock } from '../runtime/clock.js';
import type { LockMessage, LockStoreListener } from '../store/lock-store.js';
import { Asking, type AskingListener, type Granted } from './asking.js';
import { coreParts, type CoreParts, type CoreSettings } from './core-parts.js';
import { Draining } from './draining.js';
import { extendLease } from './extending.js';
import { GivingBack } from './giving-back.js';
import { KeyQueue } from './key-queue.js';
import { Line } from './line.js';
import { aborted, contended, mute, shuttingDown, unavailable, waitTimedOut } from './refusals.js';
import { refuse, start } from './settling.js';
import type { Waiter, WaiterKeeper } from './waiter.js';

/** A store that has said nothing for so long is in trouble; a shorter wait may have been shorter than a round trip. */
const MUTE_MS = 250;

/** Every key that this process holds or wants, and the ways between callers, attempts and grants. */
export class KeyQueues implements LeaseKeeper, WaiterKeeper, AskingListener, LockStoreListener {
  readonly clock: Clock;
  private readonly queues = new Map<string, KeyQueue>();
  private readonly parts: CoreParts;
  private readonly asking: Asking;
  private readonly giving: GivingBack;
  private readonly draining: Draining;
  /** Callers without a lease, all keys together. */
  waiting = 0;

  constructor(settings: CoreSettings) {
    this.clock = settings.clock;
    this.parts = coreParts(settings, {
      lost: (grant) => this.grantLost(grant),
      undone: () => this.draining.look(),
      listener: this,
      settled: () => (this.waiting -= 1),
    });
    this.asking = new Asking(this.parts, this);
    this.giving = new GivingBack(this.parts, this.asking, this, (queue) => this.changed(queue));
    this.draining = new Draining(this.parts, this.queues, (queue) => this.changed(queue));
  }

  waitingFor(key: string): number {
    return this.queues.get(key)?.waiting ?? 0;
  }

  enter(waiter: Waiter): void {
    this.waiting += 1;
    const { key, options } = waiter.call;
    let queue = this.queues.get(key);
    if (queue === undefined) this.queues.set(key, (queue = new KeyQueue(key)));
    if (!waiter.waits && queue.taken) return refuse(this.parts, waiter, contended(waiter.call, this.leftMs(queue)));
    if (waiter.waits) this.parts.lanes.add(waiter, options.waitMs, waiter.since);
    const line = options.fair === 'strict' ? new Line(queue, true) : queue.line;
    line.push(waiter);
    if (line.attempt === undefined && (line.strict || queue.grant === undefined))
      this.asking.ask(this.asking.attempt(line));
    // Whoever waits behind a holder of this process must hear when another process comes.
    else if (line.waits) void this.parts.mailbox.ready();
  }

  left(waiter: Waiter, why: 'aborted' | 'timed out'): void {
    const { call, line, since } = waiter;
    if (line === undefined) return;
    const { attempt, queue } = line;
    refuse(this.parts, waiter, why === 'aborted' ? aborted(call) : this.timeUp(call, line, this.clock.now() - since));
    if (line.first === undefined && attempt !== undefined) this.asking.abandon(attempt);
    this.changed(queue);
  }

  granted(line: Line, granted: Granted, isContended: boolean, now: number): void {
    const { queue } = line;
    const { ownerToken, ttlMs, sentAt, fencingToken, block, waiting } = granted;
    const grant = new Grant(this.parts.watchdog, queue.key, ownerToken, ttlMs, sentAt, fencingToken, block, waiting);
    grant.contended ||= isContended;
    const before = queue.grant;
    queue.grant = grant;
    // Another token of this process has the lock now, so Redis has lost what the one before it was told.
    if (before !== undefined) this.parts.watchdog.lose(before, 'taken');
    start(this.parts, this, line.first!, grant, now);
    queue.tidy();
  }

  changed(queue: KeyQueue): void {
    if (queue.idle && this.queues.get(queue.key) === queue) this.queues.delete(queue.key);
    this.draining.look();
  }

  message({ type, key, ownerToken }: LockMessage): void {
    const queue = this.queues.get(key);
    const attempt = queue?.attemptOf(ownerToken);
    if (attempt !== undefined) {
      if (type === 'contended') attempt.contended = true;
      else {
        attempt.offered = true;
        this.asking.ask(attempt);
      }
    } else if (queue?.grant?.ownerToken === ownerToken) {
      if (type === 'contended') queue.grant.contended = true;
    } else if (queue?.releasing !== ownerToken) this.parts.dead.bury(key, ownerToken, 0);
  }

  resubscribed(): void {
    for (const queue of this.queues.values()) {
      for (const { attempt } of queue.lines()) if (attempt !== undefined) this.asking.ask(attempt);
    }
  }

  giveBack(lease: LeaseHandle): Promise<void> {
    const queue = this.queues.get(lease.key);
    if (queue === undefined || queue.grant !== lease.grant) return Promise.resolve();
    if (this.parts.events.observes('released')) {
      const heldMs = this.clock.now() - lease.startedAt;
      this.parts.events.emit({ type: 'released', label: lease.call.label, heldMs });
    }
    if (this.draining.keeps(lease, () => void this.giving.giveOn(queue, lease))) return Promise.resolve();
    lease.grant.holder = undefined;
    return this.giving.giveOn(queue, lease) ?? Promise.resolve();
  }

  extend(lease: LeaseHandle, ttlMs: number): Promise<void> {
    return extendLease(this.parts, lease, ttlMs);
  }

  lost(lease: LeaseHandle, error: LeaseLostError): void {
    this.parts.events.emit({
      type: 'lost',
      label: lease.call.label,
      heldMs: this.clock.now() - lease.startedAt,
      error,
    });
  }

  refuseAll(): void {
    for (const queue of [...this.queues.values()]) {
      for (const line of queue.lines()) {
        while (line.first !== undefined) refuse(this.parts, line.first, shuttingDown(line.first.call));
        if (line.attempt !== undefined) this.asking.abandon(line.attempt);
      }
      this.changed(queue);
    }
  }

  drain(timeoutMs: number): Promise<void> {
    return this.draining.drain(timeoutMs);
  }

  stop(): void {
    this.parts.lanes.close();
    this.parts.dead.close();
  }

  private grantLost(grant: Grant): void {
    const queue = this.queues.get(grant.key);
    this.parts.dead.bury(grant.key, grant.ownerToken, grant.ttlMs);
    if (queue?.grant !== grant) return;
    queue.grant = undefined;
    // Beside callers of strict fairness the line may be asking already.
    if (queue.next !== undefined) this.asking.ask(this.asking.attempt(queue.line));
    this.changed(queue);
  }

  /** Somebody else has the lock, or nobody knows. */
  private timeUp(call: LockCall, { attempt, queue }: Line, waitedMs: number): Error {
    const isMute = attempt?.answered === false && waitedMs >= MUTE_MS;
    const trouble = attempt?.lastError ?? (isMute ? mute(call) : undefined);
    return trouble === undefined ? waitTimedOut(call, waitedMs, this.leftMs(queue)) : unavailable(call, trouble);
  }

  private leftMs(queue: KeyQueue): number {
    const { grant } = queue;
    return grant === undefined
      ? (queue.line.attempt?.holderLeftMs ?? -1)
      : Math.max(0, grant.validUntil - this.clock.now());
  }
}
