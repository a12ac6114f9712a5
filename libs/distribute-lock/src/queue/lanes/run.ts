import type { Attempt } from '../attempt.js';
import { Line } from '../line.js';
import { isConfirmed } from '../local-passing.js';
import type { Waiter } from '../waiter.js';

/** How long a place is believed in, without another word of the store. */
const STANDS_MS = 500;
/**
 * Callers that come while a run is served join it for this long, though callers of other processes wait behind it. Each hand-over
 * to another process leaves a permit idle for the time of a message, so longer runs use more of the permits.
 */
const JOIN_MS = 4;
/** ... and not after this time since the run was reported, which is the most that a caller may be overtaken by. */
const JOIN_AFTER_REPORT_MS = 25;

/**
 * Callers for permits that came one after the other: no other process is known to have come between them, and all want the same.
 * They have places side by side in the queue of the store, not more than can be served at once.
 */
export class Run extends Line {
  /** Callers that come now stand behind another process, or want something else: they form another run. */
  closed = false;
  /** When it was reported to the store with all its callers; undefined before. */
  private sealedAt: number | undefined = undefined;
  /** When the store had served all callers before it, so that the next permit of the queue is for its first caller. */
  private reachedAt: number | undefined = undefined;
  /** A command for one of its places failed, so other processes may have come between its places. */
  private torn = false;
  /** Its places besides the oldest one. */
  private readonly others = new Set<Attempt>();

  /** It was reported to the store, with all its callers. */
  get sealed(): boolean {
    return this.sealedAt !== undefined;
  }

  seal(now: number): void {
    this.sealedAt ??= now;
    this.closed = true;
  }

  /** The store has served all callers before it. */
  get reached(): boolean {
    return this.reachedAt !== undefined;
  }

  reach(now: number): void {
    this.reachedAt ??= now;
  }

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

  /** A place of the run stands in the queue of the store, so every grant behind it is issued later. */
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
  takes(waiter: Waiter, now: number): boolean {
    return (!this.closed || this.mayJoin(now)) && this.isLike(waiter);
  }

  /** A newcomer stands in front of the processes behind this run, for a moment. */
  private mayJoin(now: number): boolean {
    const { reachedAt = -Infinity, sealedAt = -Infinity } = this;
    return now - reachedAt < JOIN_MS && now - sealedAt < JOIN_AFTER_REPORT_MS && this.stands(now);
  }

  wantsLike({ first }: Run): boolean {
    return first !== undefined && this.isLike(first);
  }

  /** A caller of a later run that wants the same. */
  takeOver(waiter: Waiter): void {
    waiter.line?.remove(waiter);
    this.push(waiter);
    // It may have come behind the places of this run.
    this.sealedAt = undefined;
  }

  /** Callers of the next run, which was not reported yet, join this one. */
  absorb(next: Run, now: number): void {
    if (next.sealed || next.places > 0 || !this.mayJoin(now) || !this.wantsLike(next)) return;
    for (let { first } = next; first !== undefined; { first } = next) {
      next.remove(first);
      this.push(first);
    }
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
