import type { LeaseLostError } from '../errors/lease-lost.error.js';
import { Grant } from '../lease/grant.js';
import type { LeaseHandle, LeaseKeeper } from '../lease/lease-handle.js';
import type { LockCall } from '../lease/lock-call.js';
import type { Clock } from '../runtime/clock.js';
import type { LaneName } from '../runtime/owner-token.js';
import type { LockKind, LockMessage, LockStoreListener } from '../store/lock-store.js';
import { Asking, type AskingListener, type Granted } from './asking.js';
import { coreParts, type CoreParts, type CoreSettings } from './core-parts.js';
import { Draining } from './draining.js';
import { extendLease } from './extending.js';
import { GivingBack, type GivingListener } from './giving-back.js';
import type { KeyQueue } from './key-queue.js';
import type { Lane } from './lanes/lane.js';
import { makeLanes } from './lanes/make-lanes.js';
import type { Line } from './line.js';
import { aborted, contended, mute, shuttingDown, unavailable, waitTimedOut } from './refusals.js';
import { Registry } from './registry.js';
import { refuse } from './settling.js';
import type { Waiter, WaiterKeeper } from './waiter.js';

/** A store that has said nothing for so long is in trouble; a shorter wait may have been shorter than a round trip. */
const MUTE_MS = 250;

/** Every key that this process holds or wants, and the ways between callers, attempts and grants. */
export class KeyQueues implements LeaseKeeper, WaiterKeeper, AskingListener, GivingListener, LockStoreListener {
  readonly clock: Clock;
  private readonly queues = new Registry();
  private readonly parts: CoreParts;
  private readonly asking: Asking;
  private readonly giving: GivingBack;
  private readonly draining: Draining;
  private readonly lanes: Readonly<Record<LaneName, Lane>>;
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
    this.giving = new GivingBack(this.parts, this.asking, this, this);
    this.draining = new Draining(this.parts, this.queues, (queue) => this.changed(queue));
    this.lanes = makeLanes({
      core: this.parts,
      asking: this.asking,
      giving: this.giving,
      keeper: this,
      turnAway: (queue, waiter) => refuse(this.parts, waiter, contended(waiter.call, leftMs(queue, this.clock.now()))),
    });
  }

  waitingFor({ key, options }: LockCall): number {
    return this.queues.find(laneOfKind(options.kind), key)?.waiting ?? 0;
  }

  enter(waiter: Waiter): void {
    this.waiting += 1;
    const { key, options } = waiter.call;
    const lane = laneOfKind(options.kind);
    let queue = this.queues.find(lane, key);
    if (queue === undefined) this.queues.add((queue = this.lanes[lane].newQueue(key)));
    if (waiter.waits) this.parts.lanes.add(waiter, options.waitMs, waiter.since);
    this.lanes[lane].enter(queue, waiter);
  }

  left(waiter: Waiter, why: 'aborted' | 'timed out'): void {
    const { call, line, since } = waiter;
    if (line === undefined) return;
    refuse(this.parts, waiter, why === 'aborted' ? aborted(call) : this.timeUp(call, line, this.clock.now() - since));
    this.lanes[line.queue.lane].moved(line);
    this.changed(line.queue);
  }

  granted(line: Line, granted: Granted, isContended: boolean, now: number): void {
    const { queue } = line;
    const { ownerToken, ttlMs, sentAt, fencingToken, block, waiting } = granted;
    const grant = new Grant(this.parts.watchdog, queue.key, ownerToken, ttlMs, sentAt, fencingToken, block, waiting);
    grant.contended ||= isContended;
    this.lanes[queue.lane].granted(line, grant, now);
    queue.tidy();
  }

  passed(line: Line): void {
    this.lanes[line.queue.lane].moved(line);
  }

  changed(queue: KeyQueue): void {
    if (queue.idle) this.queues.remove(queue);
    this.draining.look();
  }

  message({ type, key, ownerToken }: LockMessage): void {
    const queue = this.queues.ofToken(key, ownerToken);
    const attempt = queue?.attemptOf(ownerToken);
    const grant = queue?.grantOf(ownerToken);
    if (attempt !== undefined) {
      if (type === 'granted') {
        attempt.offered = true;
        this.asking.ask(attempt);
      } else if (type === 'contended') attempt.contended = true;
    } else if (queue !== undefined && grant !== undefined) {
      if (type === 'contended') this.lanes[queue.lane].contended(queue, grant);
      else if (type === 'revoked') this.parts.watchdog.lose(grant, 'taken');
    } else if (queue?.isReleasing(ownerToken) !== true) this.parts.dead.bury(key, ownerToken, 0);
  }

  resubscribed(): void {
    for (const queue of this.queues.all()) {
      for (const { attempt } of queue.lines()) if (attempt !== undefined) this.asking.ask(attempt);
    }
  }

  giveBack(lease: LeaseHandle): Promise<void> {
    const { key, grant } = lease;
    const queue = this.queues.ofToken(key, grant.ownerToken);
    if (queue?.grantOf(grant.ownerToken) !== grant) return Promise.resolve();
    if (this.parts.events.observes('released')) {
      const heldMs = this.clock.now() - lease.startedAt;
      this.parts.events.emit({ type: 'released', label: lease.call.label, heldMs });
    }
    const lane = this.lanes[queue.lane];
    if (this.draining.keeps(queue, lease, () => void lane.ended(queue, lease))) return Promise.resolve();
    queue.replace(grant, lease, undefined);
    return lane.ended(queue, lease) ?? Promise.resolve();
  }

  extend(lease: LeaseHandle, ttlMs: number): Promise<void> {
    return extendLease(this.parts, lease, ttlMs);
  }

  lost(lease: LeaseHandle, error: LeaseLostError): void {
    const heldMs = this.clock.now() - lease.startedAt;
    this.parts.events.emit({ type: 'lost', label: lease.call.label, heldMs, error });
  }

  refuseAll(): void {
    for (const queue of this.queues.all()) {
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
    const { key, ownerToken } = grant;
    this.parts.dead.bury(key, ownerToken, grant.ttlMs);
    const queue = this.queues.ofToken(key, ownerToken);
    if (queue?.grantOf(ownerToken) !== grant) return;
    queue.drop(grant);
    this.lanes[queue.lane].bereft(queue);
    this.changed(queue);
  }

  /** Somebody else has the lock, or nobody knows. */
  private timeUp(call: LockCall, { attempt, queue }: Line, waitedMs: number): Error {
    const isMute = attempt?.answered === false && waitedMs >= MUTE_MS;
    const trouble = attempt?.lastError ?? (isMute ? mute(call) : undefined);
    if (trouble !== undefined) return unavailable(call, trouble);
    return waitTimedOut(call, waitedMs, leftMs(queue, this.clock.now()));
  }
}

const laneOfKind = (kind: LockKind): LaneName => (kind === 'write' ? 'exclusive' : kind);

/** When it may be worth asking again; -1 when nothing is known. */
function leftMs(queue: KeyQueue, now: number): number {
  const ends = queue.grants().map(({ validUntil }) => Math.max(0, validUntil - now));
  return ends.length === 0 ? queue.holderLeftMs : Math.min(...ends);
}
