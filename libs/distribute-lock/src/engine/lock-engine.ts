import type { LeaseLostError } from '../errors.js';
import type { LockEvents } from '../events.js';
import type { Grant } from './lease/grant.js';
import type { LeaseActions, LeaseHandle } from './lease/lease-handle.js';
import type { Lease } from './lease/lease.js';
import { isForOneKey, type LockCall, type LockRequest } from './lease/lock-call.js';
import { isUnproven, type Loss } from './lease/loss.js';
import type { ResolvedLockOptions } from '../options/lock-options.js';
import type { RetryAfter } from '../options/retry-after.js';
import { processClock, type Clock } from '../runtime/clock.js';
import { INSPECT } from '../runtime/inspect-symbol.js';
import { newProcessId } from '../runtime/owner-token.js';
import type { Timers } from '../runtime/timers.js';
import type { LockHints, LockStore } from '../store/lock-store.js';
import { Acquiring } from './acquiring.js';
import { type AttachCall, Attaching } from './attaching.js';
import { type LockPresence, presenceOf } from './census.js';
import { type EngineContext, engineContext } from './context.js';
import { Detaching } from './detaching.js';
import { downgradeLease } from './downgrading.js';
import { Entering } from './entering.js';
import type { ExclusiveState } from './exclusive.js';
import { extendLease } from './extending.js';
import type { KeyState } from './key-state.js';
import { KeyStates } from './key-states.js';
import { KeptKeys } from './kept-leases.js';
import { processNameOf } from './inspecting.js';
import { reportHeldLong } from './long-holds.js';
import type { LockInspection } from './lock-inspection.js';
import { Messages } from './messages.js';
import { MultiKey } from './multi-key.js';
import { Operating } from './operating.js';
import { Releasing } from './releasing.js';
import { reportGone, reportLost, reportReleased } from './reports.js';
import type { ReadState } from './read.js';
import { type DrainReport, Shutdown } from './shutdown.js';

/** Default limit of leases per process that may outlast their work. */
export const DEFAULT_MAX_KEPT = 10_000;

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
  private readonly states = new KeyStates();
  private readonly acquiring: Acquiring;
  private readonly releasing: Releasing;
  private readonly entering: Entering;
  private readonly messages: Messages;
  private readonly operating: Operating;
  private readonly keptKeys: KeptKeys;
  private readonly shutdown: Shutdown;
  private readonly multiKey: MultiKey;
  private readonly detaching: Detaching;
  private readonly attaching: Attaching;
  private readonly lostServers = new Set<string>();

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
    const services = { context: this.context, acquiring: this.acquiring, releasing: this.releasing, leases: this };
    this.entering = new Entering(services, this.states, settings);
    this.operating = new Operating(store, this.processId, (inquiry) => this.messages.describe(inquiry));
    this.keptKeys = new KeptKeys(this.context, this.states, {
      grantEnded: (state, grant) => this.grantEnded(state, grant),
      leaseEnded: (state, lease) => void state.leaseEnded(lease, this.clock.now()),
      left: () => this.shutdown.look(),
    });
    this.shutdown = new Shutdown(this.context, this.states, this.keptKeys, () => this.attaching.isBusy);
    this.multiKey = new MultiKey(this.context, this.acquiring, this.entering, (call) => this.acquire(call));
    const connection = settings.connection ?? 'default';
    this.detaching = new Detaching(this.context, {
      connection,
      grantEnded: (grant) => this.grantEnded(this.states.find(grant.kind, grant.key)!, grant),
    });
    const ended = (): void => this.shutdown.look();
    this.attaching = new Attaching(this.context, this.entering, this.multiKey, connection, ended);
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
        settled: () => this.entering.settled(),
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
    return { waiting: this.entering.waiting, most: this.settings.maxWaiters };
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
    return isForOneKey(request) ? this.entering.enter(request) : this.acquireAll(request);
  }

  private async acquireAll(request: LockRequest): Promise<Lease> {
    const calls: LockCall[] = [];
    const keys = [request.key].flat();
    for (const key of keys) {
      const call: LockCall = { ...request, key };
      const fault = this.entering.faultOf(call, keys.length);
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
    const heldMs = lease.heldMsAt(now);
    if (state?.grantOf(grant.ownerToken) !== grant || watchdog.isOver(grant, now)) {
      reportGone(call, heldMs);
      kept.drop(call);
      return Promise.resolve();
    }
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
    const reading = this.entering.stateOf('read', lease.key) as ReadState;
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
  inspect(key: string): Promise<LockInspection> {
    return this.operating.inspect(key);
  }

  /** Takes the lock from its holders, or from the one with this fencing token; resolves with whether it was held. */
  forceRelease(key: string, fencingToken?: number): Promise<boolean> {
    return this.operating.forceRelease(key, fencingToken);
  }

  /** Takes the lock from its holders in one step, and notifies them. */
  steal(call: LockCall): Promise<Lease> {
    return this.operating.steal(call, (stealing) => this.acquire(stealing));
  }

  /** From now on, callers and waiters get a `LockShutdownError`. */
  refuse(): void {
    this.entering.refuse();
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
}
