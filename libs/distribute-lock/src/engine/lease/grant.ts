import { kindOfToken, type TokenKind } from '../../runtime/owner-token.js';
import { Retry } from '../../runtime/retries.js';
import type { RenewAnswer } from '../../store/lock-store.js';
import type { Loss, Overdue } from './loss.js';

/** Safety margin for clock drift and timer granularity: a holder learns of the end before its key expires in Redis. */
const DRIFT_SHARE = 0.01;
const DRIFT_MS = 2;

/** For how long after the last confirmed command was sent the process can prove a lease of `ttlMs`. */
const proofMs = (ttlMs: number): number => ttlMs * (1 - DRIFT_SHARE) - DRIFT_MS;

/**
 * How much of a renewed lease of `ttlMs` can be proven at least, from the first moment of a hold on: two thirds of the ttl, less the
 * safety margin. With less, the lease is renewed, and no further holder begins on it.
 */
export const restMs = (ttlMs: number): number => proofMs(ttlMs) - ttlMs / 3;

/**
 * So many answers in a row may come later than a third of the ttl before a hold begins with the rest that they leave. Without a
 * limit, a store that always takes that long would grant nothing, and this process would keep the lock from the others.
 */
export const MOST_LATE_ANSWERS = 3;

/** This long after its grant, a lease of `ttlMs` without renewal has ended in the store despite clock drift. */
export const surelyOverMs = (ttlMs: number): number => Math.ceil(ttlMs * (1 + DRIFT_SHARE) + DRIFT_MS);

/**
 * When a lease of `ttlMs` that was requested at `sentAt` can no longer be proven. In whole milliseconds, because these need no
 * heap memory.
 */
export const validUntil = (sentAt: number, ttlMs: number): number => Math.floor(sentAt + proofMs(ttlMs));

/** A lease ends this much early, because a timer may fire that late. */
export const EARLY_MS = 1;

/** A lease that ends within this time before the limit of its holder is not renewed again. */
export const LIMIT_TOLERANCE_MS = 5;

/** The number of waiting processes when none is known, but one may wait. */
const PERHAPS_ONE = -1;

/** Fencing tokens that the store has reserved for a process. */
export class FencingBlock {
  constructor(
    private nextNumber: number,
    public left: number,
  ) {}

  take(): number {
    this.left -= 1;
    this.nextNumber += 1;
    return this.nextNumber - 1;
  }

  isNewerThan(other: FencingBlock): boolean {
    return this.nextNumber > other.nextNumber;
  }
}

/** Replaces a block without tokens, so that the empty block can be freed. */
const EMPTY_BLOCK = new FencingBlock(0, 0);

/** A renewal without an answer yet. */
export interface Renewal {
  readonly sentAt: number;
  /** How late it was sent, because the event loop was blocked. */
  readonly lateMs: number;
  readonly ttlMs: number;
  /** Set if the command may shorten the lease. `mostMs` is the limit of the grant before the command. */
  readonly shortening?: { readonly mostMs: number };
  /** Called after the answer was applied to the grant. */
  answered?: (answer: RenewAnswer) => void;
}

/** A call that holds a lock. */
export interface LockHold {
  readonly name: string;
  readonly fencingToken: number;
  /** On the monotonic clock. */
  readonly startedAt: number;
}

/** Leases that share one grant. Each has its own options. */
export interface ReadersHold {
  /** When to shorten a lease that is longer than its holders need; `Infinity` for never. */
  shortenAt: number;
  /** Until when the key stays held for holders whose work has ended, after a shutdown has begun; `-Infinity` for none. */
  leftUntil: number;
  /** How long a lease renewed at `now` must last to cover all holders. */
  needMs(now: number): number;
  /** When the first holder needs a renewal; `Infinity` if none does. */
  renewalAt(grant: Grant): number;
  /** When the first of their leases ends without another renewal. */
  validUntil(grant: Grant): number;
  /** Ends the leases that expire within `earlyMs` after `now`, for the reason that `why` finds. */
  endOverdue(grant: Grant, now: number, earlyMs: number, why?: (overdue: Overdue) => Loss): void;
}

/** The holder of a grant, as the watchdog sees it. */
export interface Holder {
  readonly readers?: ReadersHold;
  readonly renew: boolean;
  /** The grant that a downgrade is about to replace: the store may have removed it already. */
  readonly replacing?: object;
  /** Renewal stops at this time on the monotonic clock. */
  readonly renewUntil: number;
  /** No renewal extends the lease beyond this time on the monotonic clock. */
  readonly leaseUntil: number;
  /** Until when the key stays held on purpose after the work, on the monotonic clock. */
  readonly keptUntil?: number;
  /** The calls that hold the grant. */
  readonly holds: readonly LockHold[];
  /** Start of the oldest hold that was not reported as long, on the monotonic clock; `Infinity` if there is none. */
  readonly unreportedSince: number;
  /** Reports each hold that began at or before `before` as long, once each. */
  reportLong(before: number): void;
  /** Called before each renewal. */
  renewing(): void;
  /** Called once, when the lease is lost. */
  lose(loss: Loss): void;
  /** Shutdown has waited long enough: ends the lease unless work depends on it. */
  shutDown(): void;
}

/**
 * What the store gave to this process: one owner token, which may serve several leases of the process in turn.
 * Its end is decided locally: once `validUntil` has passed the grant is lost, whatever Redis answers later.
 */
export class Grant extends Retry {
  validUntil: number;
  /** The earliest time at which the key expires in the store without another renewal. In whole milliseconds. */
  endsAt: number;
  // Set on demand, as `limitMs`, `toShorten`, `turnFrom` and `renewal`: a field takes memory in every grant.
  private confirmed: number | undefined;
  /** See {@link mostMs}. `undefined` means `Infinity`. */
  private limitMs: number | undefined;
  /** The store may hold the lease for longer than is known: a command to shorten or to extend it is not confirmed. */
  toShorten: boolean | undefined;
  /** When its first hold began, if it has served several. */
  turnFrom: number | undefined;
  /** How many other processes wait for the lock, as far as known; {@link PERHAPS_ONE} if none is known, but one may wait. */
  private waiters: number;
  /** How many leases it has served. */
  passes = 0;
  holder: Holder | undefined = undefined;
  /** Released, lost or handed over; it never becomes valid again. */
  ended = false;
  /** At most one renewal is in flight at a time. */
  renewal: Renewal | undefined;
  /** When the command that obtained the grant was sent. In whole milliseconds. */
  readonly startedAt: number;
  block: FencingBlock;

  constructor(
    /** Called when the timer of the grant fires. */
    private readonly check: (grant: Grant) => void,
    readonly key: string,
    readonly ownerToken: string,
    public ttlMs: number,
    sentAt: number,
    fencingToken: number,
    block: number,
    waiting: number,
  ) {
    super();
    this.block = new FencingBlock(fencingToken, block);
    this.startedAt = Math.floor(sentAt);
    this.validUntil = validUntil(sentAt, ttlMs);
    this.endsAt = Math.floor(sentAt + ttlMs);
    this.waiters = waiting;
  }

  /** Computed, because a field would take memory in every grant. */
  get kind(): TokenKind {
    return kindOfToken(this.ownerToken);
  }

  /** When the last confirmed command was sent. In whole milliseconds, rounded up. */
  get confirmedAt(): number {
    return this.confirmed ?? this.startedAt;
  }

  /**
   * The longest time for which a confirmation counts. A command that shortens the lease and has no answer yet may still be
   * executed, even after a later renewal.
   */
  get mostMs(): number {
    return this.limitMs ?? Infinity;
  }

  set mostMs(ms: number) {
    this.limitMs = ms === Infinity ? undefined : ms;
  }

  /** Most grants serve one lease, so an empty block is freed. */
  forgetSpentBlock(): void {
    if (this.block.left === 0) this.block = EMPTY_BLOCK;
  }

  /** Another process waits for the lock, or may wait. */
  get contended(): boolean {
    return this.waiters !== 0;
  }

  set contended(contended: boolean) {
    this.waiters = contended ? Math.max(1, this.waiters) : 0;
  }

  /** How many other processes wait for the lock, as far as known. */
  get waitingElsewhere(): number {
    return Math.max(0, this.waiters);
  }

  /** The store has counted the waiting processes. A message may be newer than a count of 0, so the grant stays contended. */
  counted(waiting: number): void {
    if (waiting > 0) this.waiters = waiting;
    else if (this.waiters > 0) this.waiters = PERHAPS_ONE;
  }

  /** When to renew: a third of the ttl after the last confirmed command was sent. */
  get renewalAt(): number {
    return this.validUntil - restMs(this.ttlMs);
  }

  /** Applies a command that was sent at `sentAt` and found the lock held. The answer must arrive before the old end. */
  confirm(sentAt: number, requestedMs: number): void {
    const ttlMs = Math.min(requestedMs, this.mostMs);
    this.ttlMs = Math.max(this.ttlMs, ttlMs);
    this.validUntil = Math.max(this.validUntil, validUntil(sentAt, ttlMs));
    this.endsAt = Math.max(this.endsAt, Math.floor(sentAt + ttlMs));
    this.confirmed = Math.max(this.confirmedAt, Math.ceil(sentAt));
    this.failures = 0;
  }

  /** A command sent at `sentAt` may shorten the lease, so from now on the grant assumes the shorter time. */
  shorten(sentAt: number, ttlMs: number): void {
    this.ttlMs = ttlMs;
    this.mostMs = Math.min(this.mostMs, ttlMs);
    this.validUntil = Math.min(this.validUntil, validUntil(sentAt, ttlMs));
    this.endsAt = Math.min(this.endsAt, Math.floor(sentAt + ttlMs));
    this.toShorten = true;
  }

  /** The command was executed and cannot be executed again. */
  shortened({ mostMs }: { readonly mostMs: number }): void {
    this.mostMs = mostMs;
    this.toShorten = false;
  }

  /** How late the process was at `now`: with the timer of the grant, or with its latest renewal. */
  lateMsAt(now: number, renewal = this.renewal): number {
    return Math.max(now - this.dueAt, renewal?.lateMs ?? 0);
  }

  due(): void {
    this.check(this);
  }
}
