import type { LockHandOver } from '../channels.js';
import { Retry } from '../runtime/retries.js';
import type { Line } from './line.js';

/**
 * One request of this process for a key: an owner token, the same for all its re-sends, and what is known of it.
 * It belongs to the line, not to one caller. An attempt that is over is never reused; the next one has a new token.
 */
export class Attempt extends Retry {
  inFlight = false;
  /** The attempt waits for the subscription before it is sent. */
  held = false;
  /** A message offered the lock to this token: the process must claim it. */
  offered = false;
  /** How the latest command gets the lock, if it does; `undefined` while no holder is known. */
  path: LockHandOver | undefined = undefined;
  /** Another process waits behind this attempt, so its grant starts as contended. */
  contended = false;
  /** It is queued behind a lease that has not ended, so a message announces its grant. */
  awaitsMessage = false;
  over = false;
  /** A command was sent, or may have been. Otherwise nothing needs to be undone. */
  sent = false;
  /** An undo that is sent at or after this time is final; 0 while every command was answered. */
  finalUndoAt = 0;
  /** The store reported that the attempt is queued. */
  queued = false;
  /** When the last command was sent. */
  askedAt = 0;
  /** The shared heartbeat sent it, so its answer counts for all attempts of the key. */
  asksForAll = false;
  /** The store has answered at least once, so it is known whether the lock is held. */
  answered = false;
  /** The ttl that the last command requested. */
  ttlMs = 0;
  lastError: Error | undefined = undefined;
  /** Rest of the lease in front, as of the last `queued` answer; -1 when unknown. */
  holderLeftMs = -1;

  constructor(
    readonly line: Line,
    readonly ownerToken: string,
    readonly since: number,
    private readonly askAgain: (attempt: Attempt) => void,
  ) {
    super();
  }

  /** The latest answer said that another process holds the lock. Unknown while a command is in flight or after a failure. */
  get seesHolder(): boolean {
    return this.answered && !this.inFlight && !this.offered && this.lastError === undefined;
  }

  /** A command is sent. */
  asked(now: number): void {
    if (this.offered) this.path = 'message';
    else if (this.queued) this.path = this.hasExpired(now) ? 'expiry' : 'heartbeat';
    this.offered = false;
    this.askedAt = now;
  }

  /** The lease in front has ended without a message, as far as the latest answer tells. */
  private hasExpired(now: number): boolean {
    return this.askedAt > 0 && this.holderLeftMs >= 0 && now >= this.askedAt + this.holderLeftMs;
  }

  due(): void {
    this.askAgain(this);
  }
}
