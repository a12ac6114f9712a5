import { type LeaseLossReason, LeaseLostError, LockShutdownError } from '../../errors.js';
import { MIN_TTL_MS } from '../../options/lock-options.js';
import { type Duration, durationMs } from '../../options/values.js';
import type { Clock } from '../../runtime/clock.js';
import { outside } from '../../runtime/outside.js';
import { type TokenKind, kindOfToken } from '../../runtime/owner-token.js';
import type { Timers } from '../../runtime/timers.js';
import { type Grant, validUntil } from './grant.js';
import { HoldLimit, holdEnd } from './hold-limit.js';
import type { Holder, LockHold } from './holder.js';
import { Lease } from './lease.js';
import type { LockCall } from './lock-call.js';
import { type Loss, lossSentence } from './loss.js';
import { notDowngraded } from './not-downgraded.js';

/** What a lease needs from the component that granted it. */
export interface LeaseKeeper {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Releases the lease after `before` settles. Never rejects; waits at most 100 ms. */
  giveBack(lease: LeaseHandle, before?: Promise<void>): Promise<void>;
  extend(lease: LeaseHandle, ttlMs: number): Promise<void>;
  /** Moves the lease to a read grant. */
  downgrade(lease: LeaseHandle): Promise<void>;
  /** The lease has been held for longer than `warnAfter`. */
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

/** The lease of one holder on a grant; see {@link Lease} for its guarantees. */
export class LeaseHandle extends Lease implements Holder {
  private phase: 'early' | 'working' | 'reported';
  private released: Promise<void> | undefined;
  private downgrading: Promise<void> | undefined;
  /** The latest change (`extend`, `downgrade`) that has not finished. */
  private changing: Promise<void> | undefined;
  /** The write grant that a downgrade in progress is about to replace. */
  leaving: Grant | undefined;
  private endReason: Error | undefined;
  /** Only created for a call with `maxHold`. */
  private limit: HoldLimit | undefined = undefined;
  /** The latest extension that the holder requested. */
  private extended: Extension | undefined = undefined;
  // Created on demand: most holders never read `signal`, and a controller costs more than the lease.
  private controller: AbortController | undefined;

  constructor(
    private readonly keeper: LeaseKeeper,
    public grant: Grant,
    readonly call: LockCall,
    readonly fencingToken: number,
    /** On the monotonic clock, in whole milliseconds. */
    public startedAt: number,
  ) {
    super();
    this.phase = call.joint === true ? 'early' : 'working';
    if (!this.early) this.limitHold();
  }

  /** Starts the hold once all keys of a multi-key call are held. */
  begin(): void {
    this.phase = 'working';
    this.startedAt = Math.ceil(this.keeper.clock.now());
    this.limitHold();
  }

  private limitHold(): void {
    if (this.call.options.maxHoldMs === Infinity || this.ended) return;
    const { timers, clock } = this.keeper;
    this.limit = new HoldLimit(timers, this.holdEnd - clock.now(), () => this.endHold());
  }

  /** `maxHold` has passed: the work loses the lease, and the key is released. */
  private endHold(): void {
    this.endOwn({ reason: 'maxHold' });
  }

  private get holdEnd(): number {
    if (this.early) return Infinity;
    const { maxHoldMs, ttlMs } = this.call.options;
    return holdEnd(this.startedAt, maxHoldMs, ttlMs);
  }

  /**
   * No work has begun, because a multi-key call still waits for other keys. Such a lease is always renewed, and its release
   * ignores `minHold`.
   */
  get early(): boolean {
    return this.phase === 'early';
  }

  get unreportedSince(): number {
    return this.phase === 'working' ? this.startedAt : Infinity;
  }

  reportLong(before: number): void {
    if (this.unreportedSince > before) return;
    this.phase = 'reported';
    this.keeper.heldLong(this);
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
    return [{ name: this.call.name, startedAt: this.startedAt }];
  }

  get lane(): TokenKind {
    return kindOfToken(this.grant.ownerToken);
  }

  /** A downgrade stops the renewal of the write grant; the read grant is renewed from its start. */
  get renew(): boolean {
    return (this.call.options.renew || this.early) && this.leaving !== this.grant;
  }

  get renewUntil(): number {
    return this.early ? Infinity : this.startedAt + this.call.options.maxHoldMs;
  }

  get leaseUntil(): number {
    if (this.grant.holder === this || this.call.options.renew || this.early) return this.renewUntil;
    return Math.min(this.renewUntil, this.extended?.endsAt ?? this.startedAt + this.ttlMs);
  }

  /** The ttl that the holder wants; it counts beside other holders of a shared grant. */
  get ttlMs(): number {
    return Math.max(this.call.options.ttlMs, this.extended?.ttlMs ?? 0);
  }

  /** Records a confirmed extension whose command was sent at `sentAt`. It never shortens the lease. */
  extendedTo(ttlMs: number, sentAt: number): void {
    const endsAt = Math.max(sentAt + ttlMs, this.extended?.endsAt ?? 0);
    const until = Math.max(validUntil(sentAt, ttlMs), this.extended?.validUntil ?? 0);
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
    this.released = this.giveBack();
  }

  /** Whether the key may stay held on purpose after the work. A lost lease is not kept, unless `maxHold` ended it. */
  get mayBeKept(): boolean {
    return !(this.endReason instanceof LeaseLostError) || this.endReason.reason === 'maxHold';
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
  get heldMs(): number {
    return Math.max(0, this.keeper.clock.now() - this.startedAt);
  }

  /** Released, lost or taken away. */
  get ended(): boolean {
    return this.released !== undefined || this.endReason !== undefined;
  }

  /** Whether `keeper` granted the lease and it is held now. */
  isStillOf(keeper: LeaseKeeper): boolean {
    return this.keeper === keeper && this.isHeld();
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.endReason !== undefined) this.controller.abort(this.endReason);
    }
    return this.controller.signal;
  }

  isHeld(): boolean {
    return !this.ended && !this.grant.ended && this.keeper.clock.now() < this.validUntil;
  }

  remainingMs(): number {
    return this.isHeld() ? Math.max(0, this.validUntil - this.keeper.clock.now()) : 0;
  }

  async extend(ttl: Duration = this.grant.holder === this ? this.grant.ttlMs : this.ttlMs): Promise<void> {
    const ttlMs = durationMs('ttl', ttl, MIN_TTL_MS);
    await this.inTurn('extend()', () => this.keeper.extend(this, ttlMs));
  }

  async downgrade(): Promise<void> {
    if (this.lane === 'semaphore') throw notDowngraded(this.call, 'a semaphore has no readers');
    this.checkHeld('downgrade()');
    if (this.lane === 'read') return;
    const downgraded = (): void => void (this.downgrading = undefined);
    this.downgrading ??= this.inTurn('downgrade()', () => this.keeper.downgrade(this)).finally(downgraded);
    await this.downgrading;
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

  private checkHeld(call: string): void {
    if (!this.isHeld()) throw this.lostError(`it was released or lost before ${call} could begin`, this.whyEnded());
  }

  release(): Promise<void> {
    this.limit?.cancel();
    this.released ??= this.endReason === undefined ? this.giveBack() : Promise.resolve();
    return this.released;
  }

  /** The owner token is unknown until a downgrade in progress has ended. */
  private giveBack(): Promise<void> {
    return this.keeper.giveBack(this, this.downgrading);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** Does nothing if the lease has ended for another reason. */
  lose(loss: Loss): void {
    if (this.endReason !== undefined) return;
    const { options } = this.call;
    // The core limits `ttl` to `maxHold`, so `maxHold` is the cause.
    const isLimited = loss.reason === 'expired' && options.maxHoldMs <= options.ttlMs;
    const { reason } = isLimited ? { reason: 'maxHold' as const } : loss;
    const error = this.lostError(lossSentence({ ...loss, reason }, this.grant.ttlMs, options), reason);
    this.end(error);
    this.keeper.lost(this, error);
  }

  private end(reason: Error): void {
    this.endReason ??= reason;
    this.limit?.cancel();
    const { controller } = this;
    if (controller !== undefined) outside(() => controller.abort(reason));
  }

  shutDown(): void {
    if (this.call.scoped || this.ended) return;
    const reason = `The lease of "${this.call.name}" was released: the application is shutting down.`;
    this.end(new LockShutdownError(reason, { key: this.key }));
    this.released = this.giveBack();
  }

  /** Without a recorded reason, `release()` ended the lease, or its time passed while the process was blocked. */
  private whyEnded(): LeaseLossReason {
    if (this.endReason instanceof LeaseLostError) return this.endReason.reason;
    return this.released === undefined ? 'blocked' : 'released';
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
