import { Timed } from '../runtime/timer-lanes.js';
import type { Holder } from './holder.js';
import type { Watchdog } from './watchdog.js';

/**
 * What is taken off a lease on this side for clocks that run at different speeds and for the granularity of timers,
 * so that a holder learns of the end before it comes in Redis.
 */
const DRIFT_SHARE = 0.01;
const DRIFT_MS = 2;

/** When a lease of `ttlMs`, asked for at `sentAt`, can no longer be proven. */
export const validUntil = (sentAt: number, ttlMs: number): number => sentAt + ttlMs * (1 - DRIFT_SHARE) - DRIFT_MS;

/**
 * What Redis gave to this process: one owner token that may serve several local holders, one after the other.
 * Its truth is local: once `validUntil` has passed it is lost for good, whatever Redis says later.
 */
export class Grant extends Timed {
  validUntil: number;
  /** Another process waits for the lock. */
  contended: boolean;
  /** How many holders it has served. */
  passes = 0;
  holder: Holder | undefined = undefined;
  /** Released, lost, or given over: never valid again. */
  ended = false;
  /** When the command was sent that last confirmed it. */
  confirmedAt: number;
  failedRenewals = 0;
  /** When the command was sent that brought it. */
  readonly startedAt: number;

  constructor(
    private readonly watchdog: Watchdog,
    readonly key: string,
    readonly ownerToken: string,
    public ttlMs: number,
    sentAt: number,
    /** The next number of the reserved block of fencing tokens. */
    private nextFence: number,
    block: number,
    waiting: number,
  ) {
    super();
    this.startedAt = sentAt;
    this.confirmedAt = sentAt;
    this.validUntil = validUntil(sentAt, ttlMs);
    this.lastFence = nextFence + block - 1;
    this.contended = waiting > 0;
  }

  private readonly lastFence: number;

  get numbersLeft(): boolean {
    return this.nextFence <= this.lastFence;
  }

  nextFencingToken(): number {
    this.nextFence += 1;
    return this.nextFence - 1;
  }

  /** A command sent at `sentAt` found the lock held; its answer must have come before the old end. */
  confirm(sentAt: number, ttlMs: number): void {
    this.ttlMs = Math.max(this.ttlMs, ttlMs);
    this.confirmedAt = Math.max(this.confirmedAt, sentAt);
    this.validUntil = Math.max(this.validUntil, validUntil(sentAt, ttlMs));
    this.failedRenewals = 0;
  }

  due(): void {
    this.watchdog.check(this);
  }
}
