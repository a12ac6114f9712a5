import { type Attempt, type KeyState, type Waiter, WaitList } from './key-state.js';

/**
 * Callers of several processes that arrive within this time of each other may be served in either order. While callers of this process
 * wait in the store, the process requests places for new callers at most this often. Callers join a closed run for at most this long
 * after the last request for its places.
 */
export const ORDER_TOLERANCE_MS = 25;
/**
 * Callers that arrive while a run is served may join it for this long, even if other processes wait behind it. Each hand-over to
 * another process leaves a permit idle for the time of a message, so longer runs use the permits better.
 */
const JOIN_MS = 4;

/**
 * Consecutive waiters for permits with equal options. No other process is known to have come between them. Their places in the
 * queue of the store are adjacent, and at most one more than can be served at once.
 */
export class Run extends WaitList {
  /** New callers form another run, because another process waits behind this one or their options differ. */
  closed = false;
  /** When the places of all its callers were last requested; undefined before that. */
  private sealedAt: number | undefined = undefined;
  /** When the store had served all callers before this run, so that the next permit is for its first caller. */
  private reachedAt: number | undefined = undefined;
  /** All its places except the oldest. */
  private readonly others = new Set<Attempt>();
  /** How many places it requested since it last had none. */
  private requested = 0;

  constructor(state: KeyState) {
    super(state, false);
  }

  override get sharesHeartbeat(): boolean {
    return true;
  }

  /** The places of all its callers were requested. */
  get sealed(): boolean {
    return this.sealedAt !== undefined;
  }

  /** Later callers may join until another process waits behind the run. */
  seal(now: number): void {
    if (!this.closed || !this.sealed) this.sealedAt = now;
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
    this.requested = this.places === 0 ? 1 : this.requested + 1;
    if (this.attempt === undefined) super.begin(attempt);
    else this.others.add(attempt);
  }

  /** Makes the next attempt the oldest. */
  override end(attempt: Attempt): void {
    if (this.others.delete(attempt) || this.attempt !== attempt) return;
    const [next] = this.others;
    this.attempt = next;
    if (next !== undefined) this.others.delete(next);
  }

  get places(): number {
    return this.attempt === undefined ? 0 : 1 + this.others.size;
  }

  /**
   * How many places the run should have: as many as can be served at once, and one more. The extra place keeps later callers from a
   * rest of permits that is too small for this run. It also serves the next caller when a permit cannot be handed over locally.
   */
  get wanted(): number {
    if (this.last === undefined) return 0;
    const { permits, weight } = this.last.call.options;
    return Math.min(this.size, Math.floor(permits / weight) + 1);
  }

  /**
   * How many places it lacks although it has some: callers have joined it since it requested them. After its first caller was
   * served, its permits count as places, because they are handed over in memory.
   */
  get lacking(): number {
    if (!this.reached) return Math.max(0, this.wanted - this.places);
    return this.closed ? 0 : Math.max(0, this.wanted - this.requested);
  }

  /** A permit of the process ended without a hand-over, so it counts as a place no longer. */
  permitEnded(): void {
    if (this.requested > this.places) this.requested -= 1;
  }

  /** Whether the newcomer has equal options, and either no other process waits before it or it may join. */
  takes(waiter: Waiter, now: number): boolean {
    return (!this.closed || this.mayJoin(now)) && this.isLike(waiter);
  }

  /** For a short time, a newcomer may go before the processes that wait behind this run. */
  private mayJoin(now: number): boolean {
    const { reachedAt = -Infinity, sealedAt = -Infinity } = this;
    return now - reachedAt < JOIN_MS && now - sealedAt < ORDER_TOLERANCE_MS;
  }

  wantsLike({ first }: Run): boolean {
    return first !== undefined && this.isLike(first);
  }

  /** Adds a caller with equal options from a later run. */
  takeOver(waiter: Waiter): void {
    waiter.list?.remove(waiter);
    this.push(waiter);
    // The caller may be newer than the places of this run.
    this.sealedAt = undefined;
  }

  /** Adds the callers of the next run, unless its places were requested. */
  absorb(next: Run, now: number): void {
    if (next.sealed || next.places > 0 || !this.mayJoin(now) || !this.wantsLike(next)) return;
    for (let { first } = next; first !== undefined; { first } = next) {
      next.remove(first);
      this.push(first);
    }
  }

  /** Moves the callers behind the first `stay` ones, and their places, to another run. */
  split(stay: number): Run {
    const run = new Run(this.state);
    for (const attempt of this.attempts.slice(stay)) {
      this.end(attempt);
      attempt.list = run;
      run.begin(attempt);
    }
    if (run.places > 0) run.sealedAt = this.sealedAt;
    run.closed = this.closed;
    this.closed = true;
    const callers: Waiter[] = [];
    for (let waiter = this.last; this.size - callers.length > stay; waiter = waiter!.before) callers.push(waiter!);
    for (const waiter of callers.reverse()) {
      this.remove(waiter);
      run.push(waiter);
    }
    return run;
  }

  private isLike({ call: { options }, plan }: Waiter): boolean {
    if (this.last === undefined) return false;
    const { call, plan: own } = this.last;
    return call.options.weight === options.weight && own.ttlMs === plan.ttlMs;
  }
}
