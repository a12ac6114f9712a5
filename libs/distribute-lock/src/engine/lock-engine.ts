import type { LeaseLostError } from '../errors.js';
import type { LockEvents } from '../events.js';
import type { Grant } from './lease/grant.js';
import type { LeaseActions, LeaseHandle } from './lease/lease-handle.js';
import type { Lease } from './lease/lease.js';
import { isForOneKey, type LockCall, type LockRequest } from './lease/lock-call.js';
import { isUnproven, type Loss } from './lease/loss.js';
import { NestedLease } from './lease/nested-lease.js';
import type { ResolvedLockOptions } from '../options/lock-options.js';
import type { RetryAfter } from '../options/retry-after.js';
import { processClock, type Clock } from '../runtime/clock.js';
import { INSPECT } from '../runtime/inspect-symbol.js';
import { newProcessId, processOf, type TokenKind } from '../runtime/owner-token.js';
import type { Timers } from '../runtime/timers.js';
import type { LockHints, LockKind, LockInquiry, LockState, LockStore } from '../store/lock-store.js';
import { Acquiring } from './acquiring.js';
import { type AttachCall, Attaching } from './attaching.js';
import { type LockPresence, presenceOf } from './census.js';
import { type EngineContext, engineContext } from './context.js';
import { Detaching } from './detaching.js';
import { downgradeLease } from './downgrading.js';
import type { ExclusiveState } from './exclusive.js';
import { extendLease } from './extending.js';
import { type KeyState, Waiter, WaitList } from './key-state.js';
import { KeyStates } from './key-states.js';
import { isKept, KeptKeys } from './kept-leases.js';
import type { KindServices } from './kind.js';
import { KINDS, kindOfOption } from './kinds.js';
import { describeHolders, inspection, processNameOf } from './inspecting.js';
import { reportHeldLong } from './long-holds.js';
import type { LockInspection } from './lock-inspection.js';
import { Messages } from './messages.js';
import { MultiKey } from './multi-key.js';
import { nestingFault, outerLease } from './nesting.js';
import {
  aborted,
  mismatch,
  notAnswered,
  notInspected,
  notSupported,
  sharedByReaders,
  shuttingDown,
  tooManyKept,
  tooManyWaiters,
  unordered,
  unusableKey,
} from './refusals.js';
import { Releasing } from './releasing.js';
import { reportGone, reportLost, reportRefused, reportReleased, reportWait } from './reports.js';
import { MOST_LATE_MS } from './settling.js';
import { otherPermits } from './semaphore.js';
import type { ReadState } from './read.js';
import { type DrainReport, Shutdown } from './shutdown.js';

/** Default limit of leases per process that may outlast their work. */
export const DEFAULT_MAX_KEPT = 10_000;

const EXCLUSIVE_ONLY: ReadonlySet<LockKind> = new Set(['exclusive']);

/** How a {@link LockEngine} behaves. */
export interface LockEngineSettings {
  readonly defaults: ResolvedLockOptions;
  /** The most callers that may wait for one key in this process. */
  readonly maxWaitersPerKey: number;
  /** The most callers that may wait in this process. */
  readonly maxWaiters: number;
  /**
   * The most leases of this process that may outlast their work.
   * @defaultValue `10000`
   */
  readonly maxKept?: number;
  readonly events: LockEvents;
  /** Replaces the estimate of when to retry. */
  readonly retryAfter?: RetryAfter | undefined;
  /**
   * A hold that lasts longer is reported once; 0 disables the report.
   * @defaultValue `0`
   */
  readonly warnAfterMs?: number;
  /**
   * The name of the module's connection.
   * @defaultValue `'default'`
   */
  readonly connection?: string;
  /** Replaced in tests. */
  readonly clock?: Clock;
  /** Numbers from 0 to 1 for jitter; replaced in tests. */
  readonly random?: () => number;
  /** Replaced in tests. */
  readonly processId?: string;
}

/** The lock engine of one store in this process, and its only entrance. */
export class LockEngine implements LeaseActions {
  readonly defaults: ResolvedLockOptions;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly events: LockEvents;
  /** Whether a lease lasts when the application forgets its handle; otherwise the lease then ends. */
  readonly keepsForgotten: boolean = false;
  private readonly processId: string;
  private readonly context: EngineContext;
  private readonly states = new KeyStates(Object.values(KINDS).map(({ name }) => name));
  private readonly services: KindServices;
  private readonly acquiring: Acquiring;
  private readonly releasing: Releasing;
  private readonly messages: Messages;
  private readonly keptKeys: KeptKeys;
  private readonly shutdown: Shutdown;
  private readonly multiKey: MultiKey;
  private readonly detaching: Detaching;
  private readonly attaching: Attaching;
  private readonly lostServers = new Set<string>();
  private refusing = false;
  private callers = 0;
  private readonly waitEnds = (waiter: Waiter, reason: 'abort' | 'time-out'): void =>
    this.acquiring.wakeUps.wake({ reason, waiter });

  constructor(
    private readonly store: LockStore,
    private readonly settings: LockEngineSettings,
  ) {
    this.defaults = settings.defaults;
    this.events = settings.events;
    this.clock = settings.clock ?? processClock;
    this.processId = settings.processId ?? newProcessId();
    this.context = this.makeContext();
    this.observeConnections();
    this.timers = this.context.timers;
    this.acquiring = new Acquiring(this.context);
    this.releasing = new Releasing(this.context, this.acquiring);
    this.messages = new Messages(this.context, this.states, this.acquiring);
    this.keptKeys = new KeptKeys(this.context, this.states, {
      grantEnded: (state, grant) => this.grantEnded(state, grant),
      leaseEnded: (state, lease) => void state.leaseEnded(lease, this.clock.now()),
      left: () => this.shutdown.look(),
    });
    this.shutdown = new Shutdown(this.context, this.states, this.keptKeys, () => this.attaching.isBusy);
    this.services = { context: this.context, acquiring: this.acquiring, releasing: this.releasing, leases: this };
    this.multiKey = new MultiKey(this.context, this.acquiring, {
      acquireOne: (call) => this.acquire(call),
      isUnused: (key) => this.states.find('exclusive', key) === undefined,
      newCaller: (call, resolve, reject) => this.newCaller(call, resolve, reject),
    });
    const connection = settings.connection ?? 'default';
    this.detaching = new Detaching(this.context, {
      connection,
      grantEnded: (grant) => this.grantEnded(this.states.find(grant.kind, grant.key)!, grant),
    });
    this.attaching = new Attaching(this.context, {
      connection,
      faultOf: (call) => this.faultOf(call, undefined),
      newCaller: (call, resolve, reject) => this.newCaller(call, resolve, reject),
      settled: () => this.shutdown.look(),
      begun: (leases, since) => this.multiKey.begun(leases, since),
    });
  }

  /** What a log shows of the engine: not its secret, its leases and its connection. */
  [INSPECT](): string {
    return 'LockEngine';
  }

  private makeContext(): EngineContext {
    const { store, settings, clock, processId } = this;
    return engineContext(
      {
        store,
        clock,
        events: settings.events,
        random: settings.random ?? Math.random,
        processId,
        retryAfter: settings.retryAfter,
        warnAfterMs: settings.warnAfterMs || Infinity,
        maxKept: settings.maxKept ?? DEFAULT_MAX_KEPT,
        connection: settings.connection ?? 'default',
      },
      {
        lost: (grant, loss) => this.grantLost(grant, loss),
        undone: () => this.shutdown.look(),
        settled: () => (this.waiting -= 1),
        changed: (state) => this.changed(state),
        messages: () => this.messages,
        serverIsAway: () => this.lostServers.size > 0,
      },
    );
  }

  private observeConnections(): void {
    const { events } = this;
    this.store.observeConnections?.({
      disconnected: (server, reason) => {
        const error = new Error(`The connection to ${server} failed: ${reason}.`);
        this.lostServers.add(server);
        events.emit({ type: 'disconnected', name: server, error });
      },
      reconnected: (server, outageMs) => {
        this.lostServers.delete(server);
        events.emit({ type: 'reconnected', name: server, outageMs });
      },
    });
  }

  /** Callers that wait, and how many may. */
  get load(): { readonly waiting: number; readonly most: number } {
    return { waiting: this.waiting, most: this.settings.maxWaiters };
  }

  /** Opens the store and verifies that it answers. */
  connect(): Promise<void> {
    return this.store.connect();
  }

  /** The name of this process in {@link inspect}. */
  get processName(): string {
    return processNameOf(this.processId);
  }

  /** What the operator should change about the server. */
  async advice(): Promise<readonly string[]> {
    return (await this.store.advice?.()) ?? [];
  }

  /** Resolves with a lease of one key or of several keys, or rejects with a `LockError`. */
  acquire(request: LockRequest): Promise<Lease> {
    return isForOneKey(request) ? this.acquireOne(request) : this.acquireAll(request);
  }

  private acquireOne(call: LockCall): Promise<Lease> {
    const outer = outerLease(this, call.key);
    const fault = this.faultOf(call, outer);
    if (fault !== undefined) return Promise.reject(fault);
    if (outer !== undefined) return Promise.resolve(new NestedLease(outer, call));
    const since = this.clock.now();
    return new Promise((resolve, reject) => {
      this.enter(new Waiter(this.waitEnds, reportWait(call), since, resolve, reject));
    });
  }

  private async acquireAll(request: LockRequest): Promise<Lease> {
    const calls: LockCall[] = [];
    for (const key of [request.key].flat()) {
      const call: LockCall = { ...request, key };
      const fault = this.faultOf(call, outerLease(this, key));
      if (fault !== undefined) throw fault;
      calls.push(call);
    }
    return calls.length === 1 ? this.acquire(calls[0]) : this.multiKey.acquire(calls);
  }

  /** Releases the lease after `before` settles. Never rejects; waits at most 100 ms. */
  release(lease: LeaseHandle, before?: Promise<void>): Promise<void> {
    if (before !== undefined) return this.releasing.after(before, () => this.release(lease));
    const now = this.clock.now();
    const { key, grant, call } = lease;
    const { watchdog, holds, events, kept } = this.context;
    const state = this.states.find(grant.kind, key);
    if (state?.grantOf(grant.ownerToken) !== grant || watchdog.isOver(grant, now)) {
      reportGone(lease);
      kept.drop(call);
      return Promise.resolve();
    }
    const heldMs = lease.heldMsAt(now);
    if (lease.hasBegun) holds.record(call.name, Math.max(heldMs, lease.plan.keepForMs));
    if (!lease.lost) reportReleased(events, call, heldMs);
    if (this.keptKeys.keeps(state, lease)) return Promise.resolve();
    kept.drop(call);
    state.replace(grant, lease, undefined);
    return state.leaseEnded(lease, now) ?? Promise.resolve();
  }

  /** Extends a held lease. */
  extend(lease: LeaseHandle, ttlMs: number): Promise<void> {
    return extendLease(this.context, lease, ttlMs);
  }

  /** Moves the lease to a read grant. */
  downgrade(lease: LeaseHandle): Promise<void> {
    const writing = this.states.find(lease.kind, lease.key) as ExclusiveState;
    const reading = this.stateOf('read', lease.key) as ReadState;
    return downgradeLease(this.context, { writing, reading }, lease);
  }

  /** Ends the leases here, and resolves with the ticket that continues them. */
  detach(leases: readonly LeaseHandle[], ttlMs: number): Promise<string> {
    return this.detaching.detach(leases, ttlMs);
  }

  /** Continues a detached lease in this process. */
  attach(ticket: string, call: AttachCall): Promise<Lease> {
    return this.attaching.attach(ticket, call);
  }

  /** Releases a detached lease. */
  cancel(ticket: string): Promise<boolean> {
    return this.attaching.cancel(ticket);
  }

  endOverdue({ grant }: LeaseHandle): void {
    this.context.watchdog.endOverdue(grant);
  }

  /** The locks that this process holds or waits for. */
  census(): LockPresence[] {
    return this.states.all().map(presenceOf);
  }

  /** Opens messages between the processes of this store; `undefined` if the store has none. */
  hints(receive: (text: string) => void): LockHints | undefined {
    return this.store.hints?.(receive);
  }

  /** The key of the lease is known to be gone, without a command to the store. */
  keyDeleted({ grant }: LeaseHandle): void {
    this.context.watchdog.lose(grant, { reason: 'deleted' });
  }

  /** A snapshot of the lock. */
  async inspect(key: string): Promise<LockInspection> {
    const state = await this.read('inspect()', key);
    return inspection(key, state, this.processId, (ownerToken) => this.ask({ key, ownerToken }));
  }

  private async ask(inquiry: LockInquiry): Promise<string | undefined> {
    const isOwn = processOf(inquiry.ownerToken) === this.processId;
    return isOwn ? this.messages.describe(inquiry) : this.store.askProcess?.(inquiry);
  }

  /** Takes the lock from its holders, or from the one with this fencing token; resolves with whether it was held. */
  async forceRelease(key: string, fencingToken?: number): Promise<boolean> {
    const { store } = this;
    if (store.force === undefined) throw notInspected('taken away');
    const method = 'forceRelease()';
    let only: string | undefined;
    if (fencingToken !== undefined) {
      const state = await this.read(method, key);
      if (state.kind === 'read') throw sharedByReaders(key);
      const holders = await describeHolders(state, (ownerToken) => this.ask({ key, ownerToken, last: true }));
      only = holders.find(({ holds }) => holds?.some((hold) => hold.fencingToken === fencingToken))?.ownerToken;
      if (only === undefined && holders.some(({ holds }) => holds === undefined))
        throw notAnswered(method, key, new Error('a process that holds the lock did not answer.'));
      if (only === undefined) return false;
    }
    return store.force(key, only).catch((error: Error) => Promise.reject(notAnswered(method, key, error)));
  }

  /** Takes the lock from its holders in one step, and notifies them. */
  async steal(call: LockCall): Promise<Lease> {
    const { store } = this;
    if (store.revoked === undefined) throw notInspected('taken over');
    const { kind, holders } = await this.read('steal()', call.key);
    const lease = await this.acquire({ ...call, steal: true });
    if (kind !== 'foreign') for (const ownerToken of holders) void store.revoked(call.key, ownerToken);
    return lease;
  }

  /** The state of the lock in the store. */
  private async read(method: string, key: string): Promise<LockState> {
    const { store } = this;
    if (store.inspect === undefined) throw notInspected('inspected');
    return store.inspect(key).catch((error: Error) => Promise.reject(notAnswered(method, key, error)));
  }

  /** From now on, callers and waiters get a `LockShutdownError`. */
  refuse(): void {
    this.refusing = true;
    this.context.inbox.close();
    for (const state of this.states.all()) this.acquiring.wakeUps.wake({ reason: 'shutdown', state });
  }

  /** Resolves when no lease is left. After `timeoutMs`, ends and releases leases from `acquire()`. */
  async drain(timeoutMs: number, report: DrainReport = () => undefined): Promise<void> {
    this.refuse();
    await this.shutdown.drain(timeoutMs, report);
  }

  /** Stops timers and closes what the store opened. Leases that are still held end with their ttl. */
  async close(): Promise<void> {
    this.refuse();
    const { abandoned, timers, watchdog } = this.context;
    abandoned.close();
    timers.close();
    watchdog.close(this.states.all().flatMap((state) => state.grants()));
    await this.store.close();
  }

  lost(lease: LeaseHandle, error: LeaseLostError): void {
    const { call, heldMs } = lease;
    if (lease.grant.ended || !lease.mayBeKept) this.context.kept.drop(call);
    reportLost(this.context.events, call, heldMs, error);
  }

  heldLong(lease: LeaseHandle): void {
    reportHeldLong(this.context.events, this.states, this.multiKey.partsOf(lease));
  }

  private enter(waiter: Waiter): void {
    this.waiting += 1;
    const { call } = waiter;
    this.context.kept.add(call);
    this.stateOf(kindOfOption(call.options.kind).name, call.key).enter(waiter);
    if (waiter.list === undefined) return;
    this.timers.add(waiter, waiter.waits ? call.options.waitMs : MOST_LATE_MS, waiter.since);
  }

  /** A caller of a multi-key call, whose attempt leaves together with those of the other keys. */
  private newCaller(call: LockCall, resolve: (lease: LeaseHandle) => void, reject: (error: Error) => void): WaitList {
    const waiter = new Waiter(this.waitEnds, call, this.clock.now(), resolve, reject);
    const list = new WaitList(this.stateOf(kindOfOption(call.options.kind).name, call.key), true);
    this.waiting += 1;
    this.context.kept.add(call);
    list.push(waiter);
    return list;
  }

  private stateOf(kind: TokenKind, key: string): KeyState {
    const known = this.states.resume(kind, key);
    if (known !== undefined) return known;
    const made = KINDS[kind].newState(this.services, key);
    this.states.add(made);
    return made;
  }

  /** Number of callers without a lease, for all keys. */
  private get waiting(): number {
    return this.callers;
  }

  private set waiting(callers: number) {
    const { store } = this;
    if (callers === 0) store.messagesExpected?.(false);
    else if (this.callers === 0) store.messagesExpected?.(true);
    this.callers = callers;
  }

  /** A wait list or an attempt of the key has changed, so its state may be idle. */
  private changed(state: KeyState): void {
    if (state.idle) this.states.remove(state);
    this.shutdown.look();
  }

  private grantLost(grant: Grant, loss: Loss): void {
    const { kind, key, ownerToken, ttlMs, holder } = grant;
    const state = this.states.find(kind, key);
    const { abandoned } = this.context;
    const keptForMs = (holder?.keptUntil ?? -Infinity) - this.clock.now();
    // An undo would free the key before the end of `minHold`, or before its ttl has passed.
    if (keptForMs > 0 && isUnproven(loss)) abandoned.abandonLater({ key, ownerToken }, ttlMs, keptForMs);
    else abandoned.abandon({ key, ownerToken }, ttlMs);
    if (state?.grantOf(ownerToken) === grant) this.grantEnded(state, grant);
  }

  private grantEnded(state: KeyState, grant: Grant): void {
    state.drop(grant);
    this.acquiring.wakeUps.wake({ reason: 'grant ended', state });
    this.changed(state);
  }

  /** Why the call can never be served, independently of other holders; also reported as an event. */
  private faultOf(call: LockCall, outer: LeaseHandle | undefined): Error | undefined {
    const error = outer === undefined ? this.refusal(call) : nestingFault(call, outer);
    if (error !== undefined) reportRefused(this.settings.events, call, 0, error);
    return error;
  }

  private refusal(call: LockCall): Error | undefined {
    const { store } = this;
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
    const { maxWaitersPerKey, maxWaiters } = this.settings;
    if (this.waiting >= maxWaiters) return tooManyWaiters(call, maxWaiters, 'in this process');
    const waiting = this.states.find(kindOfOption(kind).name, call.key)?.waiting ?? 0;
    if (waiting >= maxWaitersPerKey) return tooManyWaiters(call, maxWaitersPerKey, 'for one key');
    const { kept } = this.context;
    return isKept(call) && kept.isFullFor([call]) ? tooManyKept(call, kept.most) : undefined;
  }
}
