import type { TokenKind } from '../runtime/owner-token.js';
import type { LockKind } from '../store/lock-store.js';
import { findHeld } from './lease/held-leases.js';
import { type LeaseActions, LeaseHandle } from './lease/lease-handle.js';
import type { Lease } from './lease/lease.js';
import type { LockCall } from './lease/lock-call.js';
import { MultiKeyLease } from './lease/multi-key-lease.js';
import { NestedLease } from './lease/nested-lease.js';
import { type KeyState, Waiter, WaitList } from './key-state.js';
import type { KeyStates } from './key-states.js';
import { isKept } from './kept-leases.js';
import type { KindServices } from './kind.js';
import { KINDS, kindOfOption } from './kinds.js';
import {
  aborted,
  leavesProcess,
  mismatch,
  nested,
  notSupported,
  shuttingDown,
  tooManyKept,
  tooManyWaiters,
  unordered,
  unusableKey,
  upgrade,
} from './refusals.js';
import { reportRefused, reportWait } from './reports.js';
import { otherPermits } from './semaphore.js';
import { MOST_LATE_MS } from './settling.js';

const EXCLUSIVE_ONLY: ReadonlySet<LockKind> = new Set(['exclusive']);

/** How many callers of this process may wait. */
interface WaiterLimits {
  readonly maxWaitersPerKey: number;
  readonly maxWaiters: number;
}

/** The beginning of a call: it is refused, shares a lease of its call chain, or becomes a waiter of its key. */
export class Entering {
  private callers = 0;
  private refusing = false;
  private readonly waitEnds = (waiter: Waiter, reason: 'abort' | 'time-out'): void =>
    this.services.acquiring.wakeUps.wake({ reason, waiter });

  constructor(
    private readonly services: KindServices,
    private readonly states: KeyStates,
    private readonly limits: WaiterLimits,
  ) {}

  /** Number of callers without a lease, for all keys. */
  get waiting(): number {
    return this.callers;
  }

  /** From now on, every call is refused. */
  refuse(): void {
    this.refusing = true;
  }

  /** Resolves with a lease of the key, or rejects with a `LockError`. */
  enter(call: LockCall): Promise<Lease> {
    const outer = outerLease(this.services.leases, call.key);
    const fault = this.faultWithin(outer, call);
    if (fault !== undefined) return Promise.reject(fault);
    if (outer !== undefined) return Promise.resolve(new NestedLease(outer, call));
    const since = this.services.context.clock.now();
    return new Promise((resolve, reject) => {
      const waiter = new Waiter(this.waitEnds, reportWait(call), since, resolve, reject);
      this.add(waiter.call);
      this.stateFor(call).enter(waiter);
      const { waits, list } = waiter;
      if (list === undefined) return;
      this.services.context.timers.add(waiter, waits ? call.options.waitMs : MOST_LATE_MS, since);
    });
  }

  /** A wait list with this call as its only caller, whose attempt or grant comes from another component. */
  newCaller(call: LockCall, resolve: (lease: LeaseHandle) => void, reject: (error: Error) => void): WaitList {
    const waiter = new Waiter(this.waitEnds, call, this.services.context.clock.now(), resolve, reject);
    this.add(call);
    const list = new WaitList(this.stateFor(call), true);
    list.push(waiter);
    return list;
  }

  /** A caller has no lease yet. */
  private add(call: LockCall): void {
    this.count(1);
    this.services.context.kept.add(call);
  }

  private stateFor({ key, options }: LockCall): KeyState {
    return this.stateOf(kindOfOption(options.kind).name, key);
  }

  /** A caller has a lease, or is refused. */
  settled(): void {
    this.count(-1);
  }

  private count(by: number): void {
    const { store } = this.services.context;
    const callers = this.callers + by;
    if (callers === 0) store.messagesExpected?.(false);
    else if (this.callers === 0) store.messagesExpected?.(true);
    this.callers = callers;
  }

  /** Whether this process neither holds nor waits for the exclusive lock of the key. */
  isUnused(key: string): boolean {
    return this.states.find('exclusive', key) === undefined;
  }

  /** The state of the key, which is created or resumed. */
  stateOf(kind: TokenKind, key: string): KeyState {
    const known = this.states.resume(kind, key);
    if (known !== undefined) return known;
    const made = KINDS[kind].newState(this.services, key);
    this.states.add(made);
    return made;
  }

  /**
   * Why the call can never be served, independently of other holders; also reported as an event.
   * @param keys - number of keys of the whole call
   */
  faultOf(call: LockCall, keys: number): Error | undefined {
    return this.faultWithin(outerLease(this.services.leases, call.key), call, keys);
  }

  /** The same for a ticket, which no lease of the call chain concerns; not reported. */
  faultOfTicket(call: LockCall, ticketHash: string, keys: number): Error | undefined {
    return this.refusal(call, keys, ticketHash);
  }

  /** @param outer - the lease of the call chain for the key */
  private faultWithin(outer: LeaseHandle | undefined, call: LockCall, keys = 1): Error | undefined {
    const fault = outer === undefined ? this.refusal(call, keys) : nestingFault(call, outer);
    if (fault !== undefined) reportRefused(this.services.context.events, call, 0, fault);
    return fault;
  }

  private refusal(call: LockCall, keys: number, ticketHash?: string): Error | undefined {
    const { store, kept } = this.services.context;
    if (this.refusing) return shuttingDown(call);
    if (call.signal?.aborted === true) return aborted(call);
    const { kind, fair } = call.options;
    const kinds = store.kinds ?? EXCLUSIVE_ONLY;
    if (!kinds.has(kind)) return notSupported(call, kinds);
    const fault = store.keyFault?.(call.key);
    if (fault !== undefined) return unusableKey(call, fault);
    if (fair === 'strict' && store.ordered === false) return unordered(call);
    const permits = call.steal ? undefined : otherPermits(this.states, call);
    if (permits !== undefined) return mismatch(call, permits);
    const { maxWaitersPerKey, maxWaiters } = this.limits;
    if (this.callers >= maxWaiters) return tooManyWaiters(call, maxWaiters, 'in this process');
    const waiting = this.states.find(kindOfOption(kind).name, call.key)?.waiting ?? 0;
    if (waiting >= maxWaitersPerKey) return tooManyWaiters(call, maxWaitersPerKey, 'for one key');
    return isKept(call) && kept.isFullFor([], keys, ticketHash) ? tooManyKept(call, kept.most) : undefined;
  }
}

/**
 * The lease of `engine` under which this call chain holds the key. A promise that outlives its method is no holder.
 */
function outerLease(engine: LeaseActions, key: string): LeaseHandle | undefined {
  const held = findHeld((lease) => {
    const part = partOf(lease, key);
    return part?.isHeld() === true && handleOf(part)?.isOf(engine) === true;
  });
  return held && handleOf(partOf(held, key));
}

/** Why a call must not be nested in the lease of its call chain; `undefined` if it may. */
function nestingFault(call: LockCall, outer: LeaseHandle): Error | undefined {
  const { kind, reentrant } = call.options;
  const { name, nestsIn } = kindOfOption(kind);
  if (outer.leavesProcess) return leavesProcess(call, outer.call.name);
  if (outer.readsOnly && name === 'exclusive') return upgrade(call, outer.call.name);
  const fits = nestsIn.includes(outer.kind);
  return fits && (reentrant || outer.kind === 'read') ? undefined : nested(call, outer.call.name);
}

/** The lease of the key within a lease of the call chain. */
function partOf(lease: Lease, key: string): Lease | undefined {
  if (lease instanceof MultiKeyLease) return lease.parts[lease.keys.indexOf(key)];
  return lease.key === key ? lease : undefined;
}

function handleOf(lease: Lease | undefined): LeaseHandle | undefined {
  if (lease instanceof NestedLease) return lease.inner;
  return lease instanceof LeaseHandle ? lease : undefined;
}
