import type { Grant } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import type { LockCall } from './lease/lock-call.js';
import { permitsSuffix, weightOf } from '../runtime/owner-token.js';
import { Alarm } from '../runtime/timers.js';
import { type Attempt, KeyState, type Waiter, WaitList } from './key-state.js';
import type { KeyStates } from './key-states.js';
import type { Kind, KindServices } from './kind.js';
import { PermitBlocks } from './permit-blocks.js';
import { ORDER_TOLERANCE_MS, Run } from './semaphore-run.js';
import { refuseContended, start } from './settling.js';

/** Callers that hand a permit to another process often return within this time. */
const RETURN_MS = 2;

/** A lock with permits. */
export const semaphore: Kind = {
  name: 'semaphore',
  options: ['semaphore'],
  nestsIn: [],
  newState: (services, key) => new SemaphoreState(services, key),
};

/**
 * Runs of waiters of this process, and any number of grants, each with a weight and one holder at a time. Grants are never split,
 * merged or resized. A process keeps no permit that none of its holders uses: a caller that needs many permits collects them in
 * the queue of Redis.
 */
export class SemaphoreState extends KeyState {
  /** Runs of waiters, in order of arrival. */
  private readonly runs: Run[] = [];
  private readonly held = new Map<string, Grant>();
  private readonly ending = new Set<string>();
  private readonly blocks: PermitBlocks;
  /** The number of permits that all its callers pass; see `otherPermits`. */
  permits = 0;

  /** Requests places for the callers that have arrived since the last request. */
  private readonly requesting = new Alarm(() => this.requestPlaces(this.services.context.clock.now()));
  private nextRequestAt = -Infinity;
  /** Until then, callers whose permits went to another process are expected to return. */
  private returnUntil = -Infinity;

  constructor(
    private readonly services: KindServices,
    key: string,
  ) {
    super(key);
    this.blocks = new PermitBlocks(services.context, this.held, () => this.othersCame());
  }

  get kind(): 'semaphore' {
    return 'semaphore';
  }

  enter(waiter: Waiter): void {
    const { context } = this.services;
    this.permits = waiter.call.options.permits;
    if (!waiter.waits) {
      // This process may have permits or attempts while other permits are free.
      if (this.lastRun?.last?.list?.attempt?.seesHolder !== true) return this.enterAlone(waiter);
      return refuseContended(context, this, waiter);
    }
    const now = context.clock.now();
    this.runOf(waiter, now).push(waiter);
    this.requestWithin(this.requestsInMs(now), now);
  }

  private requestWithin(ms: number, now: number): void {
    const { timers } = this.services.context;
    if (ms <= 0) this.requestPlaces(now);
    else if (!this.requesting.isScheduled || this.requesting.dueAt > now + ms) timers.add(this.requesting, ms, now);
  }

  private enterAlone(waiter: Waiter): void {
    const list = new WaitList(this, true);
    list.push(waiter);
    this.services.acquiring.attempts.sendFor(list);
  }

  /** Requests the places that the runs lack. */
  private requestPlaces(now: number): void {
    const { context, acquiring } = this.services;
    context.timers.remove(this.requesting);
    for (const run of this.unrequested(now)) {
      for (let missing = this.missing(run, now); missing > 0; missing -= 1) {
        acquiring.attempts.send(acquiring.attempts.create(run, now));
      }
    }
  }

  granted(list: WaitList, grant: Grant, now: number): void {
    const served = list instanceof Run ? this.moveUp(list, grant.contended, now) : list;
    const waiter = served.first!;
    this.permits = waiter.call.options.permits;
    start(this.services.context, this.services.leases, waiter, grant, now);
    this.add(grant);
    this.refill(grant);
    this.callersLeft(list);
  }

  serve(waiter: Waiter, grant: Grant, now: number): void {
    start(this.services.context, this.services.leases, waiter, grant, now);
    this.refill(grant);
  }

  /** Requests fencing tokens for the callers that wait. While every permit is here, the present ones suit each of them. */
  private refill(grant: Grant): void {
    const first = this.firstRun?.first;
    if (first === undefined) return;
    const hasEvery = this.hasEvery(first, this.services.context.clock.now());
    this.blocks.refill(grant, hasEvery ? -Infinity : first.since);
  }

  leaseEnded(lease: LeaseHandle, now: number): Promise<void> | undefined {
    const released = this.services.releasing.handOver(this, lease, now);
    if (released === undefined) return undefined;
    if (lease.grant.contended) this.handedOver(now);
    this.requestSoon();
    return released;
  }

  /** After the last queued caller was served, requests places for the callers that came since, and for callers that return now. */
  private requestSoon(): void {
    if (this.isBehind || this.waiting === 0) return;
    const now = this.services.context.clock.now();
    this.requestWithin(this.requestsInMs(now), now);
  }

  /** Abandons the places that the list no longer needs. */
  callersLeft(list: WaitList): void {
    const { context, acquiring } = this.services;
    const attempts = list instanceof Run ? list.attempts : list.attempt === undefined ? [] : [list.attempt];
    for (const attempt of attempts.slice(list.size)) acquiring.attempts.abandon(attempt);
    if (list.size === 0) this.lastServed(context.clock.now());
    this.tidy();
    this.requestSoon();
  }

  contendedBy(): void {
    this.othersCame();
  }

  grantEnded(): void {
    this.firstRun?.permitEnded();
    this.requestPlaces(this.services.context.clock.now());
  }

  override get mayGrantMore(): boolean {
    return true;
  }

  override get idle(): boolean {
    return super.idle && this.waiting === 0 && this.ending.size === 0;
  }

  /** The run for a new caller: the last one, unless another process came in between or the options differ. */
  runOf(waiter: Waiter, now: number): Run {
    this.tidy();
    const last = this.runs.at(-1);
    if (last?.takes(waiter, now) === true) return last;
    if (last !== undefined) last.closed = true;
    const run = new Run(this);
    if (last === undefined && this.isAlone(waiter, now)) run.reach(now);
    this.runs.push(run);
    return run;
  }

  /**
   * A later run got a grant first, so the grant goes to the oldest caller with equal options. Each run passes its first caller to
   * the equal run before it, where that caller takes over the free place. Returns the run of the oldest caller.
   */
  moveUp(served: Run, isContended: boolean, now: number): Run {
    let oldest = served;
    // The callers that are served now return soon, and places for all of them are requested together.
    if (isContended) this.nextRequestAt = Math.max(this.nextRequestAt, now + ORDER_TOLERANCE_MS);
    served.reach(now);
    for (let i = this.runs.indexOf(served) - 1; i >= 0; i -= 1) {
      const run = this.runs[i];
      run.reach(now);
      if (!run.wantsLike(oldest)) continue;
      run.takeOver(oldest.first!);
      oldest = run;
    }
    const next = this.runs[this.runs.indexOf(served) + 1];
    if (next !== undefined) served.absorb(next, now);
    return oldest;
  }

  get lastRun(): Run | undefined {
    return this.runs.at(-1);
  }

  override get next(): Waiter | undefined {
    const run = this.firstRun;
    return run?.sealed === true && run.attempt === undefined ? run.first : undefined;
  }

  override get list(): WaitList {
    return this.firstRun!;
  }

  /** The run of the next waiter. */
  private get firstRun(): Run | undefined {
    return this.runs.find(({ size }) => size > 0);
  }

  /** Removes runs without callers. */
  override tidy(): void {
    for (let i = this.runs.length - 1; i >= 0; i -= 1) if (this.runs[i].size === 0) this.runs.splice(i, 1);
  }

  /** The last caller of a run was served. Present holders often return after they have handed over their permits. */
  lastServed(now: number): void {
    for (const { contended } of this.held.values()) if (contended) this.returnUntil = now + RETURN_MS;
  }

  /** A permit of this process goes to another process. */
  handedOver(now: number): void {
    this.returnUntil = now + RETURN_MS;
  }

  /** How long a new caller may wait for a request with later ones; it does not wait while permits may be free. */
  requestsInMs(now: number): number {
    return (this.isBehind ? this.nextRequestAt : this.returnUntil) - now;
  }

  /** The runs that may need places, for a request that is sent now. */
  unrequested(now: number): readonly Run[] {
    if (this.isBehind) this.nextRequestAt = now + ORDER_TOLERANCE_MS;
    return [...this.runs];
  }

  /**
   * How many more places the run needs. One suffices while this process holds every permit, can hand each over to the run, and no
   * other process waits.
   */
  missing(run: Run, now: number): number {
    const { last } = run;
    if (last === undefined) return 0;
    if (run.sealed && run.places > 0) {
      run.seal(now);
      return run.lacking;
    }
    if (!run.sealed && !run.closed && this.passesTo(last)) {
      if (run.places > 0) return 0;
      if (run === this.firstRun && this.isAlone(last, now)) return 1;
    }
    // Each permit passes to its callers.
    if (run.sealed && this.hasEvery(last, now)) return 0;
    run.seal(now);
    return Math.max(0, run.wanted - run.places);
  }

  /** Whether each permit of this process suits the caller. */
  private passesTo({ call: { options }, plan }: Waiter): boolean {
    for (const { ownerToken, ttlMs } of this.held.values()) {
      if (weightOf(ownerToken) !== options.weight || ttlMs !== plan.ttlMs) return false;
    }
    return true;
  }

  /**
   * Another process waits, so new callers form another run. A run without places goes behind that process as a whole.
   */
  override othersCame(): void {
    const last = this.runs.at(-1);
    if (last !== undefined && (last.places > 0 || last.reached)) {
      last.closed = true;
    }
    for (const grant of this.held.values()) grant.contended = true;
  }

  /** The callers of the place and of the places behind it form another run, because that process goes before them. */
  override placedApart(attempt: Attempt): void {
    const run = this.runs.find(({ attempts }) => attempts.includes(attempt));
    if (run === undefined) return;
    this.split(run, run.attempts.indexOf(attempt));
    this.requestSoon();
  }

  /** The callers behind the first `stay` ones, and their places, form another run. */
  private split(run: Run, stay: number): void {
    if (stay > 0 && stay < run.size) this.runs.splice(this.runs.indexOf(run) + 1, 0, run.split(stay));
  }

  add(grant: Grant): void {
    this.held.set(grant.ownerToken, grant);
    this.blocks.add(grant);
  }

  grants(): readonly Grant[] {
    return [...this.held.values()];
  }

  get hasGrant(): boolean {
    return this.held.size > 0;
  }

  grantOf(ownerToken: string): Grant | undefined {
    return this.held.get(ownerToken);
  }

  drop(grant: Grant): void {
    this.held.delete(grant.ownerToken);
  }

  suffix(first: Waiter | undefined): string {
    return permitsSuffix(this.permits, first?.call.options.weight ?? 1);
  }

  /**
   * The first waiter of all processes, if it wants exactly the permits of the lease. Without messages, another process may have waited
   * for long, so the store decides. While this process does not hold every permit, the store may have issued a larger fencing token
   * to another process, and a later caller may know it. So a reserved token is only for a caller that came before its issue.
   */
  nextHolder({ call: { options }, grant }: LeaseHandle, now: number): Waiter | undefined {
    const run = this.firstRun;
    const first = run?.first;
    if (run === undefined || first === undefined) return undefined;
    if (!this.services.context.inbox.announcesSince(grant.confirmedAt)) return undefined;
    const free = this.freeAt(now, options.permits);
    const isNext = free === 0 ? run.reached || !this.isContended : run.reached && first.since <= this.blocks.issuedFor;
    return isNext && first.call.options.weight === options.weight ? first : undefined;
  }

  override get inOrder(): boolean {
    return true;
  }

  /** The place of the first run that the release serves by the same command, if no place is before it. */
  override get servedByRelease(): Attempt | undefined {
    const run = this.firstRun;
    return run?.reached === true ? run.attempts.find(({ seesHolder }) => seesHolder) : undefined;
  }

  override get waiting(): number {
    return this.runs.reduce((sum, { size }) => sum + size, super.waiting);
  }

  override get holderEndsAt(): number {
    return this.firstRun?.attempt?.holderEndsAt ?? -1;
  }

  override attemptOf(ownerToken: string): Attempt | undefined {
    for (const run of this.runs) {
      const found = run.attempts.find((attempt) => attempt.ownerToken === ownerToken);
      if (found !== undefined) return found;
    }
    return super.attemptOf(ownerToken);
  }

  override attempts(): Attempt[] {
    return [...this.runs.flatMap(({ attempts }) => attempts), ...super.attempts()];
  }

  override lists(): WaitList[] {
    return [...this.runs, ...super.lists()];
  }

  override get hasAttempt(): boolean {
    return super.hasAttempt || this.runs.some(({ attempt }) => attempt !== undefined);
  }

  /** No permit is free: callers of this process are queued in the store, or take over its permits in turn. */
  get isBehind(): boolean {
    const now = this.services.context.clock.now();
    return this.runs.some(
      ({ attempt, last, reached, sealed }) =>
        last !== undefined && (attempt?.seesHolder === true || (reached && sealed && this.hasEvery(last, now))),
    );
  }

  /** This process holds every permit at `now`, and no other process is known to wait. */
  private isAlone(waiter: Waiter, now: number): boolean {
    return !this.isContended && this.hasEvery(waiter, now);
  }

  /** This process holds every permit at `now`. */
  private hasEvery({ call: { options } }: Waiter, now: number): boolean {
    return this.freeAt(now, options.permits) === 0;
  }

  /** Another process waits. */
  private get isContended(): boolean {
    for (const { contended } of this.held.values()) if (contended) return true;
    return false;
  }

  /** How many permits this process does not hold at `now`. */
  private freeAt(now: number, permits: number): number {
    const held = [...this.held.values()].filter(({ validUntil }) => now < validUntil);
    return held.reduce((free, { ownerToken }) => free - weightOf(ownerToken), permits);
  }

  override releaseStarts(ownerToken: string): void {
    this.ending.add(ownerToken);
  }

  override releaseEnds(ownerToken: string): void {
    this.ending.delete(ownerToken);
  }

  override isReleasing(ownerToken: string): boolean {
    return this.ending.has(ownerToken);
  }
}

/**
 * The number of permits under which this process uses the key of the call now, if it differs from that of the call; 0 for a lock
 * without permits. Within one process this is a mistake in the code. Other processes may run another version of it, so they wait.
 */
export function otherPermits(states: KeyStates, { key, options: { kind, permits } }: LockCall): number | undefined {
  const semaphoreState = states.find('semaphore', key) as SemaphoreState | undefined;
  if (semaphoreState?.idle === false) return semaphoreState.permits === permits ? undefined : semaphoreState.permits;
  const isOther = kind === 'semaphore' && [states.find('exclusive', key), states.find('read', key)].some(isInUse);
  return isOther ? 0 : undefined;
}

const isInUse = (state: KeyState | undefined): boolean => state?.idle === false;
