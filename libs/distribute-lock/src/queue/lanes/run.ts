import type { Attempt } from '../attempt.js';
import { Line } from '../line.js';
import { isConfirmed } from '../local-passing.js';
import type { Waiter } from '../waiter.js';

/** How long a place is believed in, without another word of the store. */
const STANDS_MS = 500;

/**
 * Callers for permits that came one after the other: no other process is known to have come between them, and all want the same.
 * They have places side by side in the queue of the store, not more than can be served at once.
 */
export class Run extends Line {
  /** Callers that come now stand behind another process, or want something else: they form another run. */
  closed = false;
  /** It was reported to the store, with all its callers. */
  sealed = false;
  /** The store has served all who came before it, so the next permit of the queue is for its first caller. */
  reached = false;
  /** A command for one of its places failed, so other processes may have come between its places. */
  private torn = false;
  /** Its places besides the oldest one. */
  private readonly others = new Set<Attempt>();

  /** Oldest first. */
  get attempts(): Attempt[] {
    return this.attempt === undefined ? [] : [this.attempt, ...this.others];
  }

  override begin(attempt: Attempt): void {
    if (this.attempt === undefined) super.begin(attempt);
    else this.others.add(attempt);
  }

  /** The next one is then the oldest. */
  override end(attempt: Attempt): void {
    this.torn ||= hadTrouble(attempt);
    if (this.others.delete(attempt) || this.attempt !== attempt) return;
    const [next] = this.others;
    this.attempt = next;
    if (next !== undefined) this.others.delete(next);
  }

  /** A place that all callers had when it was asked for, so whatever is granted behind it is granted later. */
  stands(now: number): boolean {
    const { attempts } = this;
    if (!this.sealed || this.torn || attempts.some(hadTrouble)) return false;
    return attempts.some(({ seesHolder, since }) => seesHolder && now - since < STANDS_MS);
  }

  get places(): number {
    return this.attempt === undefined ? 0 : 1 + this.others.size;
  }

  /**
   * How many places it should have. As many as can be served at once, and one more, which keeps those behind from a rest of permits
   * that is too small for a caller, and serves the next caller where a permit cannot be passed on.
   */
  get wanted(): number {
    if (this.last === undefined) return 0;
    const { permits, weight } = this.last.call.options;
    return Math.min(this.size, Math.floor(permits / weight) + 1);
  }

  /** Whether the newcomer wants what the others want, and stands behind no other process. */
  takes(waiter: Waiter): boolean {
    return !this.closed && this.isLike(waiter);
  }

  wantsLike({ first }: Run): boolean {
    return first !== undefined && this.isLike(first);
  }

  /** A caller of a later run that wants the same. */
  takeOver(waiter: Waiter): void {
    waiter.line?.remove(waiter);
    this.push(waiter);
    // It may have come behind the places of this run.
    this.sealed = false;
  }

  private isLike({ call: { options } }: Waiter): boolean {
    if (this.last === undefined) return false;
    const own = this.last.call.options;
    const wantsSame = own.weight === options.weight && own.ttlMs === options.ttlMs;
    // Only a holder that will confirm its grant may begin on an offer.
    return wantsSame && isConfirmed(own) === isConfirmed(options);
  }
}

const hadTrouble = ({ lastError, finalUndoAt }: Attempt): boolean => lastError !== undefined || finalUndoAt > 0;
