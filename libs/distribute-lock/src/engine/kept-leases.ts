import type { Grant, LockHold } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import { planOf } from './lease/lifetime-plan.js';
import type { LockCall } from './lease/lock-call.js';
import type { Watchdog } from './lease/watchdog.js';
import type { Clock } from '../runtime/clock.js';
import { Retry } from '../runtime/retries.js';
import { Alarm, Timer, type Timers } from '../runtime/timers.js';
import type { AbandonedTokens } from '../store/abandoned-tokens.js';
import { isPassing, type LockName, type LockStore, type RenewAnswer, type RenewRequest } from '../store/lock-store.js';
import type { KeyState } from './key-state.js';
import type { KeyStates } from './key-states.js';
import type { Reader } from './readers.js';

/**
 * Leases that outlast their work (`minHold`, `release: 'expire'`, `detach()`). Such a call counts from its start until its key is free
 * for certain, so concurrent calls cannot keep more than `most` leases.
 */
export class KeptLeases {
  private readonly calls = new Set<LockCall>();
  /** Leases that this process has detached, by the hash of their ticket; until their end, or until this process uses the ticket. */
  private readonly detached = new Map<string, Alarm>();

  constructor(
    readonly most: number,
    private readonly timers: Timers,
  ) {}

  /**
   * Whether `more` leases would exceed the limit.
   * @param ended - calls whose leases they replace
   * @param ticketHash - of the ticket that they replace
   */
  isFullFor(ended: readonly LockCall[], more = 1, ticketHash = ''): boolean {
    const own = ended.filter((call) => this.calls.has(call)).length + Number(this.detached.has(ticketHash));
    return this.calls.size + this.detached.size - own + more > this.most;
  }

  /** The key stays locked for `ttlMs`. */
  addDetached(ticketHash: string, ttlMs: number): void {
    const end = new Alarm(() => this.dropDetached(ticketHash));
    this.detached.set(ticketHash, end);
    this.timers.add(end, ttlMs);
  }

  dropDetached(ticketHash: string): void {
    const end = this.detached.get(ticketHash);
    if (end !== undefined) this.timers.remove(end);
    this.detached.delete(ticketHash);
  }

  add(call: LockCall): void {
    if (isKept(call)) this.calls.add(call);
  }

  /** The call ended without a lease, or its lease is no longer kept. */
  drop(call: LockCall): void {
    if (this.calls.size > 0) this.calls.delete(call);
  }
}

export const isKept = ({ options }: LockCall): boolean => planOf(options).keepForMs > 0;

/** Whether the ttl alone keeps the key as planned. Not for readers, whose shared grant another reader may release. */
const endsByItself = ({ plan, grant, kind, startedAt }: LeaseHandle): boolean =>
  plan.atEnd === 'expire' && kind !== 'read' && startedAt + plan.minHoldMs <= grant.endsAt;

/** Holds the grant of a lease whose work has ended, until it may be released. It is always renewed until then. */
export class KeptHold extends Timer implements Reader {
  readonly renew = true;
  readonly leaseUntil = Infinity;
  /** The work has ended, so the hold is not reported as long. */
  readonly unreportedSince = Infinity;

  constructor(
    readonly lease: LeaseHandle,
    readonly renewUntil: number,
    private readonly over: (hold: KeptHold) => void,
  ) {
    super();
  }

  get keptUntil(): number {
    return this.renewUntil;
  }

  get startedAt(): number {
    return this.lease.startedAt;
  }

  get ttlMs(): number {
    return this.lease.ttlMs;
  }

  ownValidUntil(): number {
    return Infinity;
  }

  endOwn(): void {
    // No work depends on it.
  }

  get holds(): readonly LockHold[] {
    return this.lease.holds;
  }

  reportLong(): void {
    // The key is kept on purpose.
  }

  renewing(): void {
    // The application has released it.
  }

  lose(): void {
    // No work depends on the lease; the next caller asks the store again.
  }

  shutDown(): void {
    // The key was left to its ttl when the drain began.
  }

  due(): void {
    this.over(this);
  }
}

/** What follows when a key no longer stays held. */
export interface KeptKeysListener {
  /** The grant has ended, and its token needs no undo. */
  grantEnded(state: KeyState, grant: Grant): void;
  /** The key of the lease may be released now. */
  leaseEnded(state: KeyState, lease: LeaseHandle): void;
  /** The store has answered that a key is left to its ttl. */
  left(): void;
}

/** What keeping a key needs of the engine. */
interface KeepingServices {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly watchdog: Watchdog;
  readonly abandoned: AbandonedTokens<LockName>;
  readonly kept: KeptLeases;
}

/** Keys that stay held after their work. Each is released after its time, or left to its ttl. */
export class KeptKeys {
  private readonly holds = new Set<KeptHold>();
  /** The process exits, so no key is kept by it any longer. */
  private leavesAll = false;
  /** Number of commands without an answer that leave a key to its ttl. */
  private leaving = 0;

  constructor(
    private readonly services: KeepingServices,
    private readonly states: KeyStates,
    private readonly listener: KeptKeysListener,
  ) {}

  /** Whether a key is about to be left to its ttl. */
  get isBusy(): boolean {
    return this.leaving > 0;
  }

  /** Leaves all keys to their ttl, also each key that would be kept from now on. */
  leaveAll(): void {
    this.leavesAll = true;
    for (const hold of this.holds) this.leave(hold);
  }

  /** Keeps the key of an ended lease for as long as its plan requires, if it does. */
  keeps(state: KeyState, lease: LeaseHandle): boolean {
    if (lease.mayBeKept && endsByItself(lease)) return this.leaveToTtl(state, lease);
    const { grant, mayBeKept, plan, startedAt } = lease;
    const own = mayBeKept && plan.keepForMs > 0 ? startedAt + plan.keepForMs : -Infinity;
    const until = Math.max(own, grant.holder?.readers?.leftUntil ?? -Infinity);
    if (until === -Infinity) return false;
    const restMs = until - this.services.clock.now();
    if (restMs <= 0) return false;
    this.keep(state, lease, until, restMs);
    return true;
  }

  /** Separate, because V8 allocates the variables of a closure at the start of the function, so also for each release. */
  private keep(state: KeyState, lease: LeaseHandle, until: number, restMs: number): void {
    const hold = new KeptHold(lease, until, () => {
      this.holds.delete(hold);
      this.services.kept.drop(lease.call);
      state.replace(lease.grant, hold, undefined);
      if (!lease.grant.ended) this.listener.leaseEnded(state, lease);
    });
    state.replace(lease.grant, lease, hold);
    this.holds.add(hold);
    if (this.leavesAll) this.leave(hold);
    else {
      this.services.timers.add(hold, restMs);
      this.services.watchdog.watch(lease.grant);
    }
  }

  /** Leaves the key to its ttl. Callers of this process ask the store again, like callers of other processes. */
  private leaveToTtl(state: KeyState, { grant, call }: LeaseHandle): true {
    this.services.watchdog.unwatch(grant);
    grant.ended = true;
    this.services.abandoned.leaveToTtl(grant.ownerToken, grant.ttlMs, () => this.services.kept.drop(call));
    this.listener.grantEnded(state, grant);
    return true;
  }

  /**
   * The process exits before the end of `minHold`, so the remaining time becomes the ttl of the key. The drain waits for the
   * command, because a store that is closed before discards it.
   */
  private leave(hold: KeptHold): void {
    this.holds.delete(hold);
    const { store, clock, timers, watchdog } = this.services;
    const { grant } = hold.lease;
    const { key, ownerToken } = grant;
    const { readers } = grant.holder ?? {};
    const until = Math.max(hold.renewUntil, readers?.leftUntil ?? -Infinity);
    timers.remove(hold);
    const state = this.states.ofToken(key, ownerToken);
    state?.replace(grant, hold, undefined);
    const isHeld = state?.isHeld(grant) === true;
    if (readers !== undefined) readers.leftUntil = until;
    if (!isHeld) {
      watchdog.unwatch(grant);
      grant.ended = true;
      if (state !== undefined) this.listener.grantEnded(state, grant);
    }
    this.leaving += 1;
    const left = (): void => {
      this.leaving -= 1;
      this.listener.left();
    };
    const request = (): RenewRequest => {
      const ttlMs = Math.max(1, Math.ceil(until - clock.now()));
      return { key, ownerToken, kind: grant.kind, ttlMs, exact: !isHeld };
    };
    const { endsAt } = grant;
    new LeavingKey(store, timers, request, () => clock.now() < Math.min(until, endsAt), left).due();
  }
}

/** Leaves a key to its ttl, and repeats the command after a passing failure while the key is still there. */
class LeavingKey extends Retry {
  constructor(
    private readonly store: LockStore,
    private readonly timers: Timers,
    private readonly request: () => RenewRequest,
    private readonly isThere: () => boolean,
    private readonly left: () => void,
  ) {
    super();
  }

  due(): void {
    void this.store.renew([this.request()]).then(
      ([answer]) => this.answered(answer),
      (error: Error) => this.answered(error),
    );
  }

  override forgotten(): void {
    this.left();
  }

  private answered(answer: RenewAnswer): void {
    if (answer instanceof Error && isPassing(answer) && this.isThere()) this.timers.add(this, this.nextDelayMs());
    else this.left();
  }
}
