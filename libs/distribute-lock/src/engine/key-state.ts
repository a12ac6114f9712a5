import { addAbortListener, removeAbortListener, type AbortListener } from './abort-listeners.js';
import { AttemptState } from './attempt-state.js';
import type { Grant, Holder } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import { type LifetimePlan, planOf } from './lease/lifetime-plan.js';
import type { LockCall } from './lease/lock-call.js';
import type { TokenKind } from '../runtime/owner-token.js';
import { Timer } from '../runtime/timers.js';

/** A caller that has no lease yet. It is settled once. */
export class Waiter extends Timer implements AbortListener {
  list: WaitList | undefined = undefined;
  before: Waiter | undefined = undefined;
  behind: Waiter | undefined = undefined;
  /** The wait has ended without an answer of the store: the caller gets the lock only if it is free. */
  givenUp = false;
  readonly plan: LifetimePlan;

  constructor(
    private readonly ends: (waiter: Waiter, reason: 'abort' | 'time-out') => void,
    readonly call: LockCall,
    readonly since: number,
    readonly resolve: (lease: LeaseHandle) => void,
    readonly reject: (error: Error) => void,
  ) {
    super();
    const { signal, endsWait, options } = call;
    this.plan = planOf(options);
    if (signal !== undefined) addAbortListener(signal, this);
    if (endsWait === undefined || !this.waits) return;
    if (endsWait.aborted) this.givenUp = true;
    else addAbortListener(endsWait, this);
  }

  get waits(): boolean {
    return this.call.options.waitMs > 0 && !this.givenUp;
  }

  /** Stops listening to the signals; does not settle the promise. */
  ignoreSignals(): void {
    const { signal, endsWait } = this.call;
    if (signal !== undefined) removeAbortListener(signal, this);
    if (endsWait !== undefined) removeAbortListener(endsWait, this);
  }

  aborted(): void {
    this.ends(this, 'abort');
  }

  due(): void {
    this.ends(this, 'time-out');
  }
}

/**
 * One request of this process for a key: an owner token, the same for all its re-sends, and what is known of it.
 * It belongs to the wait list, not to one caller. An attempt that is over is never reused; the next one has a new token.
 */
export class Attempt extends AttemptState {
  constructor(
    /** Another one after {@link KeyState.placedApart}. */
    public list: WaitList,
    readonly ownerToken: string,
    readonly since: number,
    private readonly again: (attempt: Attempt) => void,
  ) {
    super();
  }

  due(): void {
    this.again(this);
  }
}

/**
 * Callers of this process that share one attempt in Redis, first in, first out. A `single` list has one caller with a separate
 * attempt (strict fairness).
 */
export class WaitList {
  first: Waiter | undefined = undefined;
  last: Waiter | undefined = undefined;
  size = 0;
  /** Number of callers that are willing to wait. */
  patient = 0;
  /** At most one attempt at a time is known to Redis; the next caller inherits it when the first one leaves. */
  attempt: Attempt | undefined = undefined;

  constructor(
    readonly state: KeyState,
    readonly single: boolean,
  ) {}

  /** Whether its attempts share one heartbeat with other attempts of the key. */
  get sharesHeartbeat(): boolean {
    return this.single;
  }

  /** Whether a caller of the list is willing to wait. */
  get waits(): boolean {
    return this.patient > 0;
  }

  /** Adds an attempt; a run may have several. */
  begin(attempt: Attempt): void {
    this.attempt = attempt;
  }

  /** Removes an ended attempt. */
  end(_attempt: Attempt): void {
    this.attempt = undefined;
  }

  push(waiter: Waiter): void {
    waiter.list = this;
    waiter.before = this.last;
    if (this.last === undefined) this.first = waiter;
    else this.last.behind = waiter;
    this.last = waiter;
    this.size += 1;
    if (waiter.waits) this.patient += 1;
  }

  /** The waiter still gets the lock if it is free, but no longer waits for it. */
  giveUp(waiter: Waiter): void {
    if (waiter.waits) this.patient -= 1;
    waiter.givenUp = true;
  }

  /** @returns whether the waiter was in this list */
  remove(waiter: Waiter): boolean {
    if (waiter.list !== this) return false;
    if (waiter.before === undefined) this.first = waiter.behind;
    else waiter.before.behind = waiter.behind;
    if (waiter.behind === undefined) this.last = waiter.before;
    else waiter.behind.before = waiter.before;
    waiter.list = waiter.before = waiter.behind = undefined;
    this.size -= 1;
    if (waiter.waits) this.patient -= 1;
    return true;
  }
}

/**
 * What this process knows of one key for one kind of lock: its waiters, its attempts in Redis, and its grants.
 * Without any of them it is idle. Each kind extends it with its rules.
 */
export abstract class KeyState {
  protected sharedList: WaitList | undefined = undefined;
  // Fields that only some kinds need are set on demand, because a field takes memory in every state.
  /** Wait lists of single callers by owner token; created for the first one. */
  singles: Map<string, WaitList> | undefined;
  /** The ttl of all single callers; 0 if they differ. */
  private singleTtlMs: number | undefined;
  /** Why the latest command for all callers that share a heartbeat failed; undefined after an answer to any of them. */
  heartbeatError: Error | undefined;
  /** Owner token of the release in flight: messages about it are outdated. */
  protected releasing: string | undefined = undefined;
  /** Idle, and kept for the next call of the key; see `KeyStates`. */
  resting = false;

  constructor(readonly key: string) {}

  abstract readonly kind: TokenKind;

  /** A new caller gets a lease, an error, or a place in a wait list. */
  abstract enter(waiter: Waiter): void;
  /** The store granted the lock to the attempt of the list, which has a caller. */
  abstract granted(list: WaitList, grant: Grant, now: number): void;
  /** Gives the waiter a lease on the grant. */
  abstract serve(waiter: Waiter, grant: Grant, now: number): void;
  /** The work under the lease has ended at `now`. */
  abstract leaseEnded(lease: LeaseHandle, now: number): Promise<void> | undefined;
  /** Callers have left the list, with or without a lease. Its attempt may have no caller, or not suit the next caller. */
  abstract callersLeft(list: WaitList): void;
  /** Another process waits behind the grant. */
  abstract contendedBy(grant: Grant): void;
  /** A grant has ended, and callers may wait for another one. */
  abstract grantEnded(): void;

  abstract grants(): readonly Grant[];
  /** Whether there are {@link grants}. */
  abstract get hasGrant(): boolean;
  /** The grant of this process with this token. */
  abstract grantOf(ownerToken: string): Grant | undefined;
  /** The grant has ended, or its lock belongs to another owner. */
  abstract drop(grant: Grant): void;
  /** The suffix of owner tokens, which encodes the kind. */
  abstract suffix(first: Waiter | undefined): string;
  /** The next holder of the grant when `lease` ends, if a local hand-over is allowed at `now`. */
  abstract nextHolder(lease: LeaseHandle, now: number): Waiter | undefined;

  /** Replaces the holder `from` by `by`; without `by` the grant has no holder. */
  replace(grant: Grant, _from: Holder, by: Holder | undefined): void {
    grant.holder = by;
  }

  isHeld(grant: Grant): boolean {
    return grant.holder !== undefined;
  }

  /** Whether the store may grant the lock to this process, as far as the grants of this process show. */
  get mayGrantMore(): boolean {
    return !this.hasGrant;
  }

  /** Whether the lock may be free: no answer of the store says otherwise, and this process does not hold it. */
  mayBeFree({ attempt }: WaitList): boolean {
    return attempt?.answered === false && this.mayGrantMore;
  }

  /** Whether no holder is known, and the next answer of the store decides if the callers of the list have to wait. */
  isUndecided({ attempt, single }: WaitList): boolean {
    if (!this.mayGrantMore || attempt?.lastError !== undefined) return false;
    if (attempt?.seesHolder === false) return true;
    const first = single ? this.longestQueued : undefined;
    return first?.seesHolder === false && first.lastError === undefined;
  }

  /** Why the latest command for the callers of the list failed. One attempt asks for all callers that share a heartbeat. */
  troubleOf({ attempt, sharesHeartbeat }: WaitList): Error | undefined {
    return attempt?.lastError ?? (sharesHeartbeat ? this.heartbeatError : undefined);
  }

  /** The ttl of a grant by a release to whichever attempt of this process is first in the queue; 0 if it may not grant. */
  get ownTtlMs(): number {
    return 0;
  }

  /** Whether the next caller of this process is also next among all processes, so that no other process must go first. */
  get inOrder(): boolean {
    return false;
  }

  /** Another process waits for the lock. */
  othersCame(): void {}

  /** A place of another process is directly before the place of the attempt. */
  placedApart(_attempt: Attempt): void {}

  /** The attempts that this process has in the store. */
  attempts(): Attempt[] {
    return this.lists().flatMap(({ attempt }) => attempt ?? []);
  }

  /** The queued attempt that a release serves in its turn, by the same command. */
  get servedByRelease(): Attempt | undefined {
    return undefined;
  }

  /** The ttl that the list requests. */
  ttlMsOf(list: WaitList): number {
    return list.first!.plan.ttlMs;
  }

  /** The list of callers that share one attempt; created on demand, because most locks have no waiters. */
  get list(): WaitList {
    return (this.sharedList ??= new WaitList(this, false));
  }

  /** The next waiter of this process. Waiters whose attempt is queued in Redis keep their place there. */
  get next(): Waiter | undefined {
    return this.sharedList?.attempt === undefined ? this.sharedList?.first : undefined;
  }

  /** The ttl that all callers with an attempt want, single callers included; 0 if they differ. */
  protected get commonTtlMs(): number {
    if (this.singles === undefined || this.singles.size === 0) return 0;
    const { sharedList: shared, singleTtlMs = 0 } = this;
    return shared?.first === undefined || this.ttlMsOf(shared) === singleTtlMs ? singleTtlMs : 0;
  }

  /** Whether this process has an attempt in Redis. */
  get hasAttempt(): boolean {
    return this.sharedList?.attempt !== undefined || (this.singles?.size ?? 0) > 0;
  }

  get idle(): boolean {
    return !this.hasGrant && !this.hasAttempt && this.releasing === undefined && (this.sharedList?.size ?? 0) === 0;
  }

  get waiting(): number {
    return (this.sharedList?.size ?? 0) + (this.singles?.size ?? 0);
  }

  /** See `Attempt.holderEndsAt`. The attempt that was queued first asks for single callers. */
  get holderEndsAt(): number {
    return (this.sharedList?.attempt ?? this.longestQueued)?.holderEndsAt ?? -1;
  }

  /** The attempt of a single caller that was queued first. */
  get longestQueued(): Attempt | undefined {
    for (const { attempt } of this.singles?.values() ?? []) if (attempt?.queued === true) return attempt;
    return undefined;
  }

  get shortestQueued(): Attempt | undefined {
    let found: Attempt | undefined;
    for (const { attempt } of this.singles?.values() ?? []) if (attempt?.queued === true) found = attempt;
    return found;
  }

  /** Adds the list of a single caller with its attempt. */
  addSingle(list: WaitList, attempt: Attempt): void {
    const singles = (this.singles ??= new Map());
    const ttlMs = list.first?.plan.ttlMs ?? 0;
    this.singleTtlMs = singles.size === 0 || ttlMs === this.singleTtlMs ? ttlMs : 0;
    singles.set(attempt.ownerToken, list);
  }

  attemptOf(ownerToken: string): Attempt | undefined {
    const shared = this.sharedList?.attempt;
    return shared?.ownerToken === ownerToken ? shared : this.singles?.get(ownerToken)?.attempt;
  }

  /** The attempt ends, with a grant or without. */
  end(attempt: Attempt): void {
    attempt.end();
    attempt.list.end(attempt);
    this.singles?.delete(attempt.ownerToken);
  }

  /** Removes an empty list after its last waiter was served. */
  tidy(): void {
    const list = this.sharedList;
    if (list?.size === 0 && list.attempt === undefined) this.sharedList = undefined;
  }

  lists(): WaitList[] {
    return [...(this.sharedList === undefined ? [] : [this.sharedList]), ...(this.singles?.values() ?? [])];
  }

  releaseStarts(ownerToken: string): void {
    this.releasing = ownerToken;
  }

  releaseEnds(ownerToken: string): void {
    if (this.releasing === ownerToken) this.releasing = undefined;
  }

  /** Another process waits behind a token whose grant is not known here, or not any longer. */
  contendedEarly(_ownerToken: string): void {}

  isReleasing(ownerToken: string): boolean {
    return this.releasing === ownerToken;
  }
}
