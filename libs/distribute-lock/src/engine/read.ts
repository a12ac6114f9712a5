import { type Grant, type Holder, MOST_LATE_ANSWERS, type Renewal, restMs } from './lease/grant.js';
import { LeaseHandle } from './lease/lease-handle.js';
import { Timer } from '../runtime/timers.js';
import { isLost, LockStoreError, type RenewAnswer } from '../store/lock-store.js';
import { HEARTBEAT_MS } from './heartbeat.js';
import type { Waiter, WaitList } from './key-state.js';
import type { Kind, KindServices } from './kind.js';
import { type Reader, Readers } from './readers.js';
import { hand, leftMs, refuseContended } from './settling.js';
import { SingleGrantState } from './single-grant-state.js';

/** A reader without renewal enters only while this share of its ttl is left. */
const UNRENEWED_SHARE = 0.9;

/** A shared lease is not shortened for a difference up to this. */
const SHORTEN_TOLERANCE_MS = 5;

/** A non-waiting caller that has waited this long for a failed renewal does not wait for another command. */
const MOST_LOST_MS = 150;

const unconfirmed = (): Error =>
  new LockStoreError('the lease that readers of this process share was not confirmed in time.', true);

/** The read lock. */
export const reading: Kind = {
  name: 'read',
  options: ['read'],
  // A reader may always reenter: if a writer waits, the reader would otherwise wait for itself.
  nestsIn: ['exclusive', 'read'],
  newState: (services, key) => new ReadState(services, key),
};

/**
 * Readers of one process share one grant, and entering it costs no command. While a writer waits, new readers wait here until the
 * lease is released or the writer has left.
 */
export class ReadState extends SingleGrantState {
  /** The fencing token that all readers share. */
  private fencingToken = 0;
  /** Number of messages that a writer waits: an answer to an older command must not admit readers. */
  warnings = 0;
  private gate: ReaderGate | undefined = undefined;
  /** Tokens of a release or downgrade in flight, and whether a message reported that a writer waits behind them. */
  private readonly unsettled = new Map<string, boolean>();

  get kind(): 'read' {
    return 'read';
  }

  enter(waiter: Waiter): void {
    const { context } = this.services;
    const now = context.clock.now();
    const { grant } = this;
    if (grant !== undefined && this.mayEnter(grant, waiter, now)) return this.serve(waiter, grant, now);
    const isTaken = grant === undefined ? this.list.attempt?.seesHolder === true : grant.contended;
    if (!waiter.waits && isTaken) return refuseContended(context, this, waiter);
    this.list.push(waiter);
    if (grant === undefined) {
      this.requestPlace();
      this.hurryFor(waiter, this.list);
    } else this.renewWithin(grant.contended ? HEARTBEAT_MS : 0);
  }

  granted(list: WaitList, grant: Grant, now: number): void {
    const before = this.grant;
    // The store granted another token of this process, so it has lost the previous grant.
    const { watchdog } = this.services.context;
    // Its time may have passed in a pause, before its timer fired.
    if (before !== undefined && !watchdog.isOver(before, now)) watchdog.lose(before, { reason: 'deleted' });
    this.open(grant, grant.block.take());
    while (list.first !== undefined) this.serve(list.first, grant, now);
    this.shortenSoon(grant, now);
  }

  serve(waiter: Waiter, grant: Grant, now: number): void {
    const { context, leases } = this.services;
    const lease = new LeaseHandle(leases, grant, waiter.call, this.fencingToken, Math.ceil(now));
    (grant.holder as Readers).add(lease);
    context.watchdog.joined(grant, Readers.of(lease), now);
    hand(context, waiter, lease, now);
  }

  /** From now on readers may enter under this grant. */
  open(grant: Grant, fencingToken: number): void {
    this.grant = grant;
    this.fencingToken = fencingToken;
    grant.holder = new Readers();
  }

  /** Adds the lease of a writer that was downgraded. */
  join(lease: LeaseHandle): void {
    const grant = this.grant!;
    lease.grant = grant;
    (grant.holder as Readers).add(lease);
    this.services.context.watchdog.joined(grant, Readers.of(lease));
  }

  /** Admits the readers that waited for this lease, which the store gave to all of them. */
  admitAll(): void {
    const { list, grant } = this;
    const { clock } = this.services.context;
    const now = clock.now();
    this.admitEach(now, ({ plan }) => grant!.validUntil - now >= restMs(plan.ttlMs));
    // The others enter by the next renewal.
    if (list.attempt !== undefined) this.services.acquiring.attempts.abandon(list.attempt);
    if (list.first !== undefined) this.renewWithin(0);
    else this.shortenSoon(grant!, now);
    this.tidy();
  }

  /**
   * Admits the readers that may enter after a renewal that was sent at `sentAt`.
   * @param slow - whether the store is too slow for a longer lease
   */
  admit(grant: Grant, sentAt: number, slow: boolean): void {
    const now = this.services.context.clock.now();
    const fresh = this.knowsWriters(grant, now) && !grant.contended;
    this.admitEach(now, (waiter) => {
      // No lease can be longer than one after a fresh renewal, so also a reader without renewal from before it enters.
      if (fresh && waiter.since <= sentAt) return slow || grant.validUntil - now >= restMs(waiter.plan.ttlMs);
      return this.mayEnter(grant, waiter, now);
    });
    if (this.list.first !== undefined) this.renewWithin(0);
    // A reader that needed a longer lease may have left before the answer.
    else this.shortenSoon(grant, now);
    this.tidy();
  }

  private admitEach(now: number, may: (waiter: Waiter) => boolean): void {
    let waiter = this.list.first;
    while (waiter !== undefined) {
      const { behind } = waiter;
      if (may(waiter)) this.admitOne(waiter, now);
      waiter = behind;
    }
  }

  private admitOne(waiter: Waiter, now: number): void {
    this.services.acquiring.wakeUps.wake({ reason: 'reader gate', waiter, grant: this.grant!, now });
  }

  leaseEnded(lease: LeaseHandle, now: number): Promise<void> | undefined {
    if (this.isHeld(lease.grant)) {
      this.shortenSoon(lease.grant, now);
      return undefined;
    }
    return this.services.releasing.release(this, lease.grant, lease, now);
  }

  /** When the readers need less than the lease has left, shortens the lease within a third of what the others need. */
  shortenSoon(grant: Grant, now: number): void {
    const readers = grant.holder as Readers;
    if (grant.ended || readers.needAtLeast(grant.endsAt - now - SHORTEN_TOLERANCE_MS, now)) return;
    const needMs = readers.needMs(now);
    readers.shortenAt = Math.min(readers.shortenAt, now + needMs / 3);
    this.services.context.watchdog.watch(grant, now);
  }

  override contendedBy(grant: Grant): void {
    super.contendedBy(grant);
    this.warnings += 1;
  }

  override grantEnded(): void {
    this.refuseLate();
    this.requestPlace();
  }

  /** Refuses non-waiting callers that have no time left for another command. */
  refuseLate(error: Error = unconfirmed()): void {
    const { context, acquiring } = this.services;
    const before = context.clock.now() - MOST_LOST_MS;
    acquiring.wakeUps.wake({ reason: 'failure', list: this.list, error, passing: true, before });
  }

  override mayBeFree(list: WaitList): boolean {
    return this.grant === undefined ? super.mayBeFree(list) : !this.grant.contended;
  }

  /** While no writer is known, the readers of this process wait only for the renewal of their lease. */
  override isUndecided(list: WaitList): boolean {
    if (this.grant === undefined) return super.isUndecided(list);
    return (
      !this.grant.contended && this.gate !== undefined && (this.gate.inFlight || this.gate.lastError === undefined)
    );
  }

  override troubleOf(list: WaitList): Error | undefined {
    if (this.grant === undefined) return super.troubleOf(list);
    return this.grant.contended ? undefined : this.gate?.lastError;
  }

  private mayEnter(grant: Grant, { plan }: Waiter, now: number): boolean {
    const needsMs = plan.renew ? restMs(plan.ttlMs) : plan.ttlMs * UNRENEWED_SHARE;
    return !grant.ended && !grant.contended && this.knowsWriters(grant, now) && grant.validUntil - now >= needsMs;
  }

  /** Whether a writer that waits is known: by a message, or without messages by an answer of the last heartbeat. */
  private knowsWriters({ confirmedAt }: Grant, now: number): boolean {
    return now - confirmedAt < HEARTBEAT_MS || this.services.context.inbox.announcesSince(confirmedAt);
  }

  private renewWithin(ms: number): void {
    this.gate ??= new ReaderGate(this.services, this);
    this.gate.within(ms);
  }

  override replace(grant: Grant, from: Holder, by: Holder | undefined): void {
    if (!(grant.holder instanceof Readers)) return;
    grant.holder.remove(from);
    if (by !== undefined) grant.holder.add(by as Reader);
  }

  override isHeld(grant: Grant): boolean {
    return grant.holder instanceof Readers && grant.holder.size > 0;
  }

  /** The longest ttl of the waiters, because they will share the lease. */
  override ttlMsOf(list: WaitList): number {
    let longest = 0;
    for (let waiter = list.first; waiter !== undefined; waiter = waiter.behind) {
      longest = Math.max(longest, waiter.plan.ttlMs);
    }
    return longest;
  }

  suffix(): string {
    return ':r';
  }

  /** Readers need no local hand-over: they enter the shared lease. */
  nextHolder(): undefined {
    return undefined;
  }

  override get idle(): boolean {
    return super.idle && this.unsettled.size === 0;
  }

  override releaseStarts(ownerToken: string): void {
    this.unsettled.set(ownerToken, false);
  }

  override contendedEarly(ownerToken: string): void {
    this.unsettled.set(ownerToken, true);
  }

  /** Whether the message that a writer waits was here before the answer that grants the token. */
  isContendedEarly(ownerToken: string): boolean {
    return this.unsettled.get(ownerToken) === true;
  }

  override releaseEnds(ownerToken: string): void {
    this.unsettled.delete(ownerToken);
  }

  override isReleasing(ownerToken: string): boolean {
    return this.unsettled.has(ownerToken);
  }
}

/**
 * Renews the lease that the readers of a process share, for readers that wait to enter it. Either the rest of the lease is too
 * short for them, or a writer waits and a heartbeat checks whether it has left. Renewals and their back-off are shared with the
 * watchdog.
 */
class ReaderGate extends Timer {
  inFlight = false;
  /** How many renewals in a row came too late for a reader; see {@link MOST_LATE_ANSWERS}. */
  private lateAnswers = 0;
  /** The error of the last renewal, if it failed. */
  lastError: Error | undefined = undefined;

  constructor(
    private readonly services: KindServices,
    private readonly state: ReadState,
  ) {
    super();
  }

  within(ms: number): void {
    const { timers, watchdog } = this.services.context;
    const { grant } = this.state;
    const retryInMs = grant === undefined ? 0 : watchdog.retryInMs(grant);
    // A new reader must not bring a pending retry forward.
    if (this.inFlight || (this.lastError !== undefined && this.isScheduled)) return;
    if (ms === 0 && retryInMs > 0) timers.add(this, retryInMs);
    else if (ms === 0) {
      timers.remove(this);
      this.due();
    } else if (!this.isScheduled) timers.add(this, ms);
  }

  due(): void {
    const { state } = this;
    state.refuseLate(this.lastError);
    const { grant, list, warnings } = state;
    if (grant === undefined || list.first === undefined) return state.tidy();
    const joined = grant.renewal !== undefined;
    // While a writer waits, no reader enters, so the lease stays as long as its holders need.
    const renewal = this.services.context.watchdog.renew(grant, grant.contended ? 0 : state.ttlMsOf(list));
    this.inFlight = true;
    renewal.answered = (answer) => this.answered(grant, answer, renewal, joined ? undefined : warnings);
  }

  /** @param warnings - the number of warnings when the renewal was sent; `undefined` if the watchdog had sent it before */
  private answered(grant: Grant, answer: RenewAnswer, renewal: Renewal, warnings: number | undefined): void {
    const { state } = this;
    this.inFlight = false;
    if (answer instanceof Error) {
      this.lastError = answer;
      const { list } = state;
      this.services.acquiring.wakeUps.wake({ reason: 'failure', list, error: answer, passing: true });
    } else {
      this.lastError = undefined;
    }
    if (grant.ended || state.grant !== grant) return this.superseded();
    if (answer instanceof Error) return this.within(0);
    if (isLost(answer)) return;
    // A warning that arrived after the command was sent is newer than its answer.
    if (warnings !== undefined) grant.contended = answer > 0 || state.warnings > warnings;
    const { list } = state;
    if (grant.contended) {
      const now = this.services.context.clock.now();
      this.services.acquiring.wakeUps.wake({ reason: 'contended', list, leftMs: leftMs(state, now) });
      state.shortenSoon(grant, now);
      return this.within(warnings === undefined ? 0 : HEARTBEAT_MS);
    }
    if (list.first !== undefined && renewal.ttlMs < state.ttlMsOf(list)) return this.within(0);
    this.lateAnswers += 1;
    state.admit(grant, renewal.sentAt, this.lateAnswers >= MOST_LATE_ANSWERS);
    if (list.first === undefined) this.lateAnswers = 0;
  }

  /** The lease was released before the answer arrived. */
  private superseded(): void {
    const { list, grant } = this.state;
    this.lateAnswers = 0;
    // Readers of the next lease could not ask for it while the renewal was in flight.
    if (grant !== undefined && list.first !== undefined) return this.within(grant.contended ? HEARTBEAT_MS : 0);
    this.state.callersLeft(list);
    this.state.tidy();
    this.services.context.changed(this.state);
  }
}
