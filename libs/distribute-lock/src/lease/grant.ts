import { Retry } from '../runtime/retries.js';
import type { RenewAnswer } from '../store/lock-store.js';
import type { Holder } from './holder.js';
import type { Loss } from './loss.js';

/**
 * What is taken off a lease on this side for clocks that run at different speeds and for the granularity of timers,
 * so that a holder learns of the end before it comes in Redis.
 */
const DRIFT_SHARE = 0.01;
const DRIFT_MS = 2;

/** How long after sending its last confirmed command a lease of `ttlMs` can be proven. */
const proofMs = (ttlMs: number): number => ttlMs * (1 - DRIFT_SHARE) - DRIFT_MS;

/** How long after its grant a lease of `ttlMs` that is not renewed has surely ended in the store. */
export const surelyOverMs = (ttlMs: number): number => Math.ceil(ttlMs * (1 + DRIFT_SHARE) + DRIFT_MS);

/** When a lease of `ttlMs`, asked for at `sentAt`, can no longer be proven. In whole milliseconds, which cost no memory of their own. */
export const validUntil = (sentAt: number, ttlMs: number): number => Math.floor(sentAt + proofMs(ttlMs));

/** Work that began on an offer and is over by then costs no command but its release. */
const CONFIRM_AFTER_MS = 50;

/** Fencing tokens that the store has reserved for a process. */
export class FencingBlock {
  constructor(
    private nextNumber: number,
    /** How many are left. */
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

/** In the place of a block that has no numbers left. */
const NO_NUMBERS = new FencingBlock(0, 0);

/** A renewal under way. */
export interface Renewal {
  readonly sentAt: number;
  readonly ttlMs: number;
  /** It may have made the lease shorter. `mostMs`: what the grant was limited to before. */
  readonly shortening?: { readonly mostMs: number };
  /** Notified after the answer has been applied to the grant. */
  answered?: (answer: RenewAnswer) => void;
}

/** Who looks after a grant when its time has come. */
export interface GrantKeeper {
  check(grant: Grant): void;
  lose(grant: Grant, loss: Loss): void;
}

/**
 * What Redis gave to this process: one owner token that may serve several local holders, one after the other.
 * Its truth is local: once `validUntil` has passed it is lost for good, whatever Redis says later.
 */
export class Grant extends Retry {
  validUntil: number;
  /** When the key ends in the store at the earliest, if it is not renewed any more. In whole milliseconds. */
  endsAt: number;
  /** When the last command was sent that confirmed it, in whole milliseconds, rounded up. */
  confirmedAt: number;
  /** See {@link mostMs}; undefined for `Infinity`, which would take memory in every grant. */
  private limitMs: number | undefined = undefined;
  /** It was to be shortened, and that is not confirmed. */
  toShorten = false;
  /** How many other processes are known to wait for the lock. */
  waitingElsewhere: number;
  /** How many holders it has served. */
  passes = 0;
  holder: Holder | undefined = undefined;
  /** Released, lost, or given over: never valid again. */
  ended = false;
  /** At most one at a time. */
  renewal: Renewal | undefined = undefined;
  /** It began on an offer, and the store has not confirmed it for its ttl yet. */
  unconfirmed = false;
  /** When the command was sent that brought it, in whole milliseconds. */
  readonly startedAt: number;
  numbers: FencingBlock;

  constructor(
    private readonly keeper: GrantKeeper,
    readonly key: string,
    readonly ownerToken: string,
    public ttlMs: number,
    sentAt: number,
    fencingToken: number,
    block: number,
    waiting: number,
  ) {
    super();
    this.numbers = new FencingBlock(fencingToken, block);
    this.startedAt = this.confirmedAt = Math.floor(sentAt);
    this.validUntil = validUntil(sentAt, ttlMs);
    this.endsAt = Math.floor(sentAt + ttlMs);
    this.waitingElsewhere = waiting;
  }

  /**
   * For how long a confirmation counts at most. A command that shortens the lease and is not answered yet may still be executed, also
   * after a later renewal.
   */
  get mostMs(): number {
    return this.limitMs ?? Infinity;
  }

  set mostMs(ms: number) {
    this.limitMs = ms === Infinity ? undefined : ms;
  }

  /** Most grants serve one holder, so an empty block is not kept. */
  forgetSpentNumbers(): void {
    if (this.numbers.left === 0) this.numbers = NO_NUMBERS;
  }

  /** Another process waits for the lock. */
  get contended(): boolean {
    return this.waitingElsewhere > 0;
  }

  set contended(contended: boolean) {
    this.waitingElsewhere = contended ? Math.max(1, this.waitingElsewhere) : 0;
  }

  /** When it wants to be renewed: a third of its ttl after its last confirmed command was sent. */
  get renewalAt(): number {
    if (this.unconfirmed) return this.startedAt + CONFIRM_AFTER_MS;
    return this.validUntil - proofMs(this.ttlMs) + this.ttlMs / 3;
  }

  /** Nobody has claimed it: it can be proven until then, unless it is confirmed. */
  beginUnconfirmed(until: number): void {
    this.validUntil = until;
    this.endsAt = until;
    this.unconfirmed = true;
  }

  /** A command sent at `sentAt` found the lock held; its answer must have come before the old end. */
  confirm(sentAt: number, askedMs: number): void {
    const ttlMs = Math.min(askedMs, this.mostMs);
    this.ttlMs = Math.max(this.ttlMs, ttlMs);
    this.validUntil = Math.max(this.validUntil, validUntil(sentAt, ttlMs));
    this.endsAt = Math.max(this.endsAt, Math.floor(sentAt + ttlMs));
    this.confirmedAt = Math.max(this.confirmedAt, Math.ceil(sentAt));
    this.failures = 0;
    this.unconfirmed = false;
  }

  /** A command that is sent at `sentAt` may shorten it: from now on no more than that is believed. */
  shorten(sentAt: number, ttlMs: number): void {
    this.ttlMs = ttlMs;
    this.mostMs = Math.min(this.mostMs, ttlMs);
    this.validUntil = Math.min(this.validUntil, validUntil(sentAt, ttlMs));
    this.endsAt = Math.min(this.endsAt, Math.floor(sentAt + ttlMs));
    this.toShorten = true;
  }

  /** The command was executed, and is not executed again. */
  shortened({ mostMs }: { readonly mostMs: number }): void {
    this.mostMs = mostMs;
    this.toShorten = false;
  }

  due(): void {
    this.keeper.check(this);
  }

  /** Its key is known to be gone, without asking the store. */
  lose(): void {
    this.keeper.lose(this, { reason: 'deleted' });
  }
}
