import { isLockError, type LeaseLossReason, LeaseLostError, LockShutdownError, LockUsageError } from '../../errors.js';
import { LONGEST_DETACHED_MS, MIN_TTL_MS } from '../../options/lock-options.js';
import { type Duration, durationMs } from '../../options/values.js';
import type { Clock } from '../../runtime/clock.js';
import { outside } from '../../runtime/outside.js';
import type { TokenKind } from '../../runtime/owner-token.js';
import type { Timers } from '../../runtime/timers.js';
import { endWhenCollected } from './collected.js';
import { type Grant, type Holder, LIMIT_TOLERANCE_MS, type LockHold, validUntil } from './grant.js';
import { type DetachOptions, Lease } from './lease.js';
import { HoldLimit, type LifetimePlan, planBeforeWork, planOf } from './lifetime-plan.js';
import type { LockCall } from './lock-call.js';
import { type Loss, lossSentence, mayBeKeptAfter } from './loss.js';
import { NestedHolds } from './nested-holds.js';

/** What the engine does for its leases. */
export interface LeaseActions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Releases the lease after `before` settles. Never rejects; waits at most 100 ms. */
  release(lease: LeaseHandle, before?: Promise<void>): Promise<void>;
  extend(lease: LeaseHandle, ttlMs: number): Promise<void>;
  /** Moves the lease to a read grant. */
  downgrade(lease: LeaseHandle): Promise<void>;
  /** Ends the leases of a call here, and resolves with the ticket that continues them. */
  detach(leases: readonly LeaseHandle[], ttlMs: number): Promise<string>;
  /** Notifies the holders of the grant whose time has passed. */
  endOverdue(lease: LeaseHandle): void;
  /** The lease has been held for longer than `warnAfter`. It calls `reported()`. */
  heldLong(lease: LeaseHandle): void;
  /** The lease is lost, and its holder was notified. */
  lost(lease: LeaseHandle, error: LeaseLostError): void;
}

/** The result of a confirmed `extend()`. */
interface Extension {
  readonly ttlMs: number;
  readonly endsAt: number;
  readonly validUntil: number;
}

/** The lease of one holder on a grant; see {@link Lease} for its guarantees. Nested calls hold it beside its owner. */
export class LeaseHandle extends Lease implements Holder {
  /** How long the lease lasts. A multi-key call replaces the plan when its work begins. */
  plan: LifetimePlan;
  private phase: 'before work' | 'working' | 'reported';
  private released: Promise<void> | undefined;
  /** Only created for a nested call. */
  private nested: NestedHolds | undefined;
  // Flags are set on demand, because a field takes memory in every lease.
  private isLeft: true | undefined;
  private downgrading: Promise<void> | undefined;
  private detaching: Promise<void> | undefined;
  private detaches: boolean | undefined;
  /** The application has forgotten the handle before the end of `detach()`. */
  private isForgotten: true | undefined;
  /** The latest change (`extend`, `downgrade`) that has not finished. */
  private changing: Promise<void> | undefined;
  /** The write grant that a downgrade in progress is about to replace. */
  replacing: Grant | undefined;
  private endReason: Error | undefined;
  /** Only created for a call with `maxHold`. */
  private limit: HoldLimit | undefined;
  /** The latest extension that the holder requested. */
  private extended: Extension | undefined;
  // Created on demand: most holders never read `signal`, and a controller costs more than the lease.
  private controller: AbortController | undefined;
  /**
   * What the application holds of it, until the first renewal. Only a renewed lease could outlive a handle that the application
   * has forgotten, and most leases end earlier: registering each of them would cost more than the rest of a local hand-over.
   */
  handle: object | undefined;

  constructor(
    private readonly engine: LeaseActions,
    public grant: Grant,
    readonly call: LockCall,
    readonly fencingToken: number,
    /** On the monotonic clock, in whole milliseconds. */
    public startedAt: number,
  ) {
    super();
    const isPart = call.multiKey === true;
    this.phase = isPart ? 'before work' : 'working';
    this.plan = isPart ? planBeforeWork(call.options) : planOf(call.options);
    this.limitHold();
  }

  /** Starts the hold once all keys of a multi-key call are held. */
  begin(): void {
    this.phase = 'working';
    this.plan = planOf(this.call.options);
    this.startedAt = Math.ceil(this.engine.clock.now());
    this.limitHold();
  }

  /** Whether its work has begun. A multi-key call may release a key before. */
  get hasBegun(): boolean {
    return this.phase !== 'before work';
  }

  private limitHold(): void {
    if (this.plan.holdForMs === Infinity || this.ended) return;
    const { timers, clock } = this.engine;
    this.limit = new HoldLimit(timers, clock, this.holdEnd, () => this.endHold());
  }

  /** `maxHold` has passed: the work loses the lease, and the key is released. */
  private endHold(): void {
    this.endOwn({ reason: 'maxHold' });
  }

  private get holdEnd(): number {
    return this.startedAt + this.plan.holdForMs;
  }

  get unreportedSince(): number {
    return this.phase === 'working' && this.call.leads !== true ? this.startedAt : Infinity;
  }

  reportLong(before: number): void {
    if (this.unreportedSince <= before) this.engine.heldLong(this);
  }

  /** Its hold needs no further report. */
  reported(): void {
    this.phase = 'reported';
  }

  /** Its owner has released it; nested calls may still hold it. */
  get left(): boolean {
    return this.isLeft === true;
  }

  /** A call of `detach()` has not ended. */
  get leavesProcess(): boolean {
    return this.detaches === true;
  }

  get key(): string {
    return this.call.key;
  }

  get keys(): readonly string[] {
    return [this.key];
  }

  get fencingTokens(): ReadonlyMap<string, number> {
    return new Map([[this.key, this.fencingToken]]);
  }

  get holds(): readonly LockHold[] {
    return [{ name: this.call.name, fencingToken: this.fencingToken, startedAt: this.startedAt }];
  }

  get kind(): TokenKind {
    return this.grant.kind;
  }

  get renew(): boolean {
    return this.plan.renew;
  }

  get renewUntil(): number {
    return this.startedAt + this.plan.renewForMs;
  }

  get leaseUntil(): number {
    if (this.grant.holder === this || this.plan.renew) return this.renewUntil;
    return Math.min(this.renewUntil, this.extended?.endsAt ?? this.startedAt + this.ttlMs);
  }

  /** The ttl that the holder wants; it counts beside other holders of a shared grant. */
  get ttlMs(): number {
    return Math.max(this.plan.ttlMs, this.extended?.ttlMs ?? 0);
  }

  /** Records a confirmed extension whose command was sent at `sentAt`. It never shortens the lease. */
  extendedTo(ttlMs: number, sentAt: number): void {
    const { startedAt, extended } = this;
    const endsAt = Math.max(sentAt + ttlMs, extended?.endsAt ?? startedAt + this.ttlMs);
    const until = Math.max(validUntil(sentAt, ttlMs), extended?.validUntil ?? validUntil(startedAt, this.ttlMs));
    this.extended = { ttlMs: Math.max(ttlMs, this.ttlMs), endsAt, validUntil: until };
  }

  /** Until when its own ttl proves it. The last confirmed command of the grant was sent at `confirmedAt`. */
  ownValidUntil(confirmedAt: number): number {
    if (this.renew) return validUntil(Math.max(confirmedAt, this.startedAt), this.ttlMs);
    return this.extended?.validUntil ?? validUntil(this.startedAt, this.ttlMs);
  }

  /** Ends this lease because its own limit has passed. The grant may continue for other holders. */
  endOwn(loss: Loss): void {
    if (this.ended) return;
    this.lose(loss);
    this.released = this.end();
  }

  /** Whether the key may stay held on purpose after the work. A lost lease is not kept, unless it ended as planned. */
  get mayBeKept(): boolean {
    return !(this.endReason instanceof LeaseLostError) || mayBeKeptAfter(this.endReason.reason);
  }

  /** Lets the key of a lost lease stay held as long as without the loss. */
  get keptUntil(): number {
    const { keepForMs } = this.plan;
    return keepForMs === 0 ? -Infinity : this.startedAt + keepForMs;
  }

  /** Its holder was notified of a loss. */
  get lost(): boolean {
    return this.endReason instanceof LeaseLostError;
  }

  /** Until when it can be proven without another renewal. */
  private get validUntil(): number {
    const { grant } = this;
    const end = Math.min(grant.validUntil, this.holdEnd);
    return grant.holder === this ? end : Math.min(end, this.ownValidUntil(grant.confirmedAt));
  }

  /** Never negative, though the start is rounded up to whole milliseconds. */
  heldMsAt(now: number): number {
    return Math.max(0, now - this.startedAt);
  }

  get heldMs(): number {
    return this.heldMsAt(this.engine.clock.now());
  }

  /** Released, lost or taken away. */
  get ended(): boolean {
    return this.released !== undefined || this.endReason !== undefined;
  }

  /** Whether `engine` granted the lease. */
  isOf(engine: LeaseActions): boolean {
    return this.engine === engine;
  }

  /** A nested call begins to hold the lease, until it calls `unnest()`. */
  nest(call: LockCall): void {
    this.nested ??= new NestedHolds();
    this.nested.count(call, 1);
  }

  /** A nested call has ended. The last hold releases the lock. */
  unnest(call: LockCall): Promise<void> {
    this.nested?.count(call, -1);
    return this.left ? this.releaseUnlessNested() : Promise.resolve();
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.endReason !== undefined) this.controller.abort(this.endReason);
    }
    return this.controller.signal;
  }

  isHeld(): boolean {
    return !this.left && this.isProven();
  }

  remainingMs(): number {
    return this.left ? 0 : this.provenMs();
  }

  /** Whether the lease is held now, by its owner or by a nested call. */
  isProven(): boolean {
    return !this.ended && !this.grant.ended && this.engine.clock.now() < this.validUntil;
  }

  /** Like `remainingMs()`, also for nested calls. */
  provenMs(): number {
    return this.isProven() ? Math.max(0, this.validUntil - this.engine.clock.now()) : 0;
  }

  /** The ttl of a shared grant is the longest of its holders, so each of them has its own. */
  private get presentTtlMs(): number {
    return this.grant.holder === this ? this.grant.ttlMs : this.ttlMs;
  }

  async extend(ttl?: Duration): Promise<void> {
    this.checkOwned('extend()');
    await this.extendHold(ttl);
  }

  /** Like `extend()`, also for nested calls. */
  async extendHold(ttl: Duration = this.presentTtlMs): Promise<void> {
    const ttlMs = durationMs('ttl', ttl, MIN_TTL_MS);
    await this.inTurn('extend()', () => this.engine.extend(this, ttlMs));
  }

  async downgrade(): Promise<void> {
    this.checkDowngradable();
    if (this.kind === 'read') return;
    const downgraded = (): void => void (this.downgrading = undefined);
    this.downgrading ??= this.inTurn('downgrade()', () => this.engine.downgrade(this)).finally(downgraded);
    await this.downgrading;
  }

  /** Downgrades the leases of one call: all of them, or none remains held. */
  static async downgradeAll(leases: readonly LeaseHandle[]): Promise<void> {
    for (const lease of leases) lease.checkDowngradable();
    const results = await Promise.allSettled(leases.map((lease) => lease.downgrade()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined) return;
    const changed = leases.filter((_, i) => results[i].status === 'fulfilled');
    for (const lease of changed)
      lease.endOwn({ reason: 'released', why: 'another of its keys could not be downgraded' });
    throw isLockError(failed.reason, 'LEASE_LOST') ? failed.reason : (changed[0]?.signal.reason ?? failed.reason);
  }

  private checkDowngradable(): void {
    const { kind } = this;
    if (kind !== 'exclusive' && kind !== 'read') throw notDowngraded(this.call, `a ${kind} has no readers`);
    this.checkOwned('downgrade()');
    this.checkHeld('downgrade()');
    if (kind === 'read') return;
    if (this.leavesProcess) throw notDowngraded(this.call, LEAVES);
    if (this.nested !== undefined && this.nested.writers > 0)
      throw notDowngraded(this.call, 'a nested call still writes; wait for its end');
  }

  detach(options: DetachOptions): Promise<string> {
    return LeaseHandle.detachAll([this], options);
  }

  /** Detaches the leases of one call together. */
  static async detachAll(leases: readonly LeaseHandle[], options: DetachOptions): Promise<string> {
    // Callers without types may pass nothing.
    const { ttl } = Object(options) as DetachOptions;
    const ttlMs = durationMs('ttl', ttl, MIN_TTL_MS, LONGEST_DETACHED_MS);
    for (const lease of leases) lease.checkDetachable();
    for (const lease of leases) lease.detaches = true;
    try {
      return await leases[0].engine.detach(leases, ttlMs);
    } finally {
      for (const lease of leases) lease.staysOrLeft();
    }
  }

  /** `detach()` has ended. */
  private staysOrLeft(): void {
    this.detaches = false;
    if (this.isForgotten === true) this.forgotten();
  }

  private checkDetachable(): void {
    this.checkOwned('detach()');
    this.checkHeld('detach()');
    if (this.readsOnly)
      throw notDetachable(this.call, 'readers of a process share a lease. Use a semaphore or a database row');
    if (this.leavesProcess) throw notDetachable(this.call, LEAVES);
    if (this.nested !== undefined && this.nested.all > 0)
      throw notDetachable(this.call, 'a nested call still holds it; wait for its end');
  }

  /** Replaces the owner token by `replace`, after the changes before. */
  detachBy(replace: () => Promise<void>): Promise<void> {
    this.detaching = this.inTurn('detach()', replace).finally(() => (this.detaching = undefined));
    return this.detaching;
  }

  /** A ticket continues the lease. */
  detached(): void {
    this.isLeft = true;
    this.limit?.cancel();
    this.released ??= Promise.resolve();
  }

  /** Whether it is a read lock, or is about to become one. */
  get readsOnly(): boolean {
    return this.kind === 'read' || this.downgrading !== undefined;
  }

  /** Whether a change has no answer yet. */
  get isChanging(): boolean {
    return this.changing !== undefined;
  }

  /** Makes changes one at a time: each starts from the result of the previous one, even if that failed. */
  private inTurn(call: string, change: () => Promise<void>): Promise<void> {
    const make = (): Promise<void> => {
      this.checkHeld(call);
      return change();
    };
    const made = this.changing === undefined ? make() : this.changing.then(make, make);
    this.changing = made;
    const over = (): void => {
      if (this.changing === made) this.changing = undefined;
    };
    made.then(over, over);
    return made;
  }

  private checkOwned(call: string): void {
    if (this.left && this.isProven()) throw this.lostError(`it was released before ${call} could begin`, 'released');
  }

  private checkHeld(call: string): void {
    if (this.isProven()) return;
    this.endOverdue();
    if (this.endReason instanceof LeaseLostError) throw this.endReason;
    const reason = this.endReason === undefined ? 'released' : 'shutdown';
    const why = reason === 'released' ? 'released' : 'ended by the shutdown';
    throw this.lostError(`it was ${why} before ${call} could begin`, reason);
  }

  /** Ends the lease now if its time has passed and its timer has not fired, for the reason that the timer would find. */
  endOverdue(): void {
    if (this.ended) return;
    this.engine.endOverdue(this);
    if (!this.ended && this.engine.clock.now() >= this.holdEnd) this.endHold();
  }

  release(): Promise<void> {
    this.isLeft = true;
    return this.releaseUnlessNested();
  }

  private releaseUnlessNested(): Promise<void> {
    if (this.nested !== undefined && this.nested.all > 0) return this.released ?? Promise.resolve();
    this.limit?.cancel();
    // The engine examines the grant only, which may have a longer lease for other holders.
    if ((this.limit !== undefined || this.grant.holder !== this) && !this.isProven()) this.endOverdue();
    this.released ??= this.endReason === undefined ? this.end() : Promise.resolve();
    return this.released;
  }

  /** The owner token is unknown until a downgrade or a detachment in progress has ended. */
  private end(): Promise<void> {
    return this.engine.release(this, this.downgrading ?? this.detaching);
  }

  /** Does nothing if the lease has ended for another reason. */
  lose(loss: Loss): void {
    if (this.endReason !== undefined) return;
    const { options } = this.call;
    const isLimited = loss.reason === 'expired' && (this.plan.maxHoldEndsTtl || this.isExtendedToLimit);
    const { reason } = isLimited ? { reason: 'maxHold' as const } : loss;
    const error = this.lostError(lossSentence({ ...loss, reason }, this.presentTtlMs, options), reason);
    this.notify(error);
    this.engine.lost(this, error);
  }

  /** An extension lasts as long as `maxHold` allows. */
  private get isExtendedToLimit(): boolean {
    return this.extended !== undefined && this.extended.endsAt > this.renewUntil - LIMIT_TOLERANCE_MS;
  }

  private notify(reason: Error): void {
    this.endReason ??= reason;
    this.limit?.cancel();
    const { controller } = this;
    if (controller !== undefined) outside(() => controller.abort(reason));
  }

  private get hasWork(): boolean {
    return (this.call.scoped && !this.left) || (this.nested !== undefined && this.nested.work > 0);
  }

  renewing(): void {
    const { handle } = this;
    if (handle === undefined) return;
    this.handle = undefined;
    endWhenCollected(handle, this);
  }

  forgotten(): void {
    if (this.leavesProcess) this.isForgotten = true;
    else if (!this.left) this.endOwn({ reason: 'forgotten' });
  }

  shutDown(): void {
    if (this.ended || this.hasWork || this.leavesProcess) return;
    const reason = `The lease of "${this.call.name}" was released: the application is shutting down.`;
    this.notify(new LockShutdownError(reason, { key: this.key }));
    this.released = this.end();
  }

  /** @internal */
  lostError(why: string, reason: LeaseLossReason): LeaseLostError {
    return new LeaseLostError(
      `The lease of "${this.call.name}" is lost after ${Math.round(this.heldMs)} ms: ${why}. ` +
        'Stop the work, or let the resource reject its fencing token.',
      { key: this.key, fencingToken: this.fencingToken, reason },
    );
  }
}

const LEAVES = 'detach() was called before, and has not ended';

export const notDowngraded = ({ name, key }: LockCall, why: string): LockUsageError =>
  new LockUsageError(`The lease of "${name}" cannot be downgraded: ${why}.`, { key });

export const notDetachable = ({ name, key }: Pick<LockCall, 'name' | 'key'>, why: string): LockUsageError =>
  new LockUsageError(`The lease of "${name}" cannot be detached: ${why}.`, { key });
