import { Retry } from '../runtime/retries.js';
import type { Line } from './line.js';

/**
 * One try of this process to get a key: an owner token, the same for all its re-sends, and what is known of it.
 * It belongs to the line, not to one caller. Once over it is never used again; the next attempt has a new token.
 */
export class Attempt extends Retry {
  inFlight = false;
  /** It is to be sent when messages can arrive. */
  held = false;
  /** A message said that the lock carries this token: it must be claimed. */
  offered = false;
  /** Somebody waits behind it already; counts for the lease to come. */
  contended = false;
  /** It is queued behind a lease that has not ended, so a message announces its grant. */
  awaitsMessage = false;
  over = false;
  /** A command of it was sent, or may have been. Otherwise there is nothing to undo. */
  sent = false;
  /** An undo that is sent from then on is final; 0 while no command of it went unanswered. */
  finalUndoAt = 0;
  /** The store has said that it stands in the queue. */
  queued = false;
  /** When it was sent last. */
  askedAt = 0;
  /** The shared heartbeat sent it: its answer counts for all attempts of the key. */
  asksForAll = false;
  /** The store has answered it at least once, so it is known who has the lock. */
  answered = false;
  /** For how long a lock is asked at present. */
  ttlMs = 0;
  lastError: Error | undefined = undefined;
  /** When the answer `queued` came, what was left of the lease before it. */
  holderLeftMs = -1;

  constructor(
    readonly line: Line,
    readonly ownerToken: string,
    readonly since: number,
    private readonly askAgain: (attempt: Attempt) => void,
  ) {
    super();
  }

  /**
   * The latest reply of the store said that another process holds the lock. While a command is under way, or has failed, that is not
   * known.
   */
  get seesHolder(): boolean {
    return this.answered && !this.inFlight && !this.offered && this.lastError === undefined;
  }

  due(): void {
    this.askAgain(this);
  }
}
