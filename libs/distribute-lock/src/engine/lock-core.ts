import type { LockEvents } from '../events.js';
import { findHeld } from './lease/held-leases.js';
import { JointLease } from './lease/joint-lease.js';
import { LeaseHandle } from './lease/lease-handle.js';
import type { Lease } from './lease/lease.js';
import type { Holder } from './lease/holder.js';
import type { LockCall } from './lease/lock-call.js';
import type { LockInspection } from './lease/lock-inspection.js';
import { NestedLease } from './lease/nested-lease.js';
import { MIN_TTL_MS, type ResolvedLockOptions } from '../options/lock-options.js';
import type { RetryAfter } from '../options/retry-after.js';
import { processClock, type Clock } from '../runtime/clock.js';
import { newProcessId } from '../runtime/owner-token.js';
import type { LockKind, LockStore } from '../store/lock-store.js';
import { inspection } from './inspecting.js';
import { AtOnce } from './at-once.js';
import type { DrainReport } from './draining.js';
import { KeyQueues } from './key-queues.js';
import {
  aborted,
  nested,
  notAnswered,
  notInspected,
  notOffered,
  shuttingDown,
  tooManyKept,
  tooManyWaiters,
  unordered,
  unusableKey,
  upgrade,
} from './refusals.js';
import { SeveralKeys } from './several-keys.js';
import { reportRefused, reportWait } from './reports.js';
import { Waiter } from './waiter.js';

/** Default limit of leases per process that may outlast their work. */
export const DEFAULT_MAX_KEPT = 10_000;

const EXCLUSIVE_ONLY: ReadonlySet<LockKind> = new Set(['exclusive']);

/** How a {@link LockCore} behaves. */
export interface LockCoreSettings {
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
   * Whether the store confirms each offer and revocation that a message brings.
   * @defaultValue `false`
   */
  readonly confirmOffers?: boolean;
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

/** The lock core of one store in this process. */
export class LockCore {
  readonly defaults: ResolvedLockOptions;
  private readonly queues: KeyQueues;
  private readonly several: SeveralKeys;
  private readonly clock: Clock;
  private readonly processId: string;
  private refusing = false;

  constructor(
    private readonly store: LockStore,
    private readonly settings: LockCoreSettings,
  ) {
    this.defaults = settings.defaults;
    this.clock = settings.clock ?? processClock;
    this.processId = settings.processId ?? newProcessId();
    this.queues = new KeyQueues({
      store,
      clock: this.clock,
      events: settings.events,
      random: settings.random ?? Math.random,
      processId: this.processId,
      retryAfter: settings.retryAfter,
      warnAfterMs: settings.warnAfterMs || Infinity,
      maxKept: settings.maxKept ?? DEFAULT_MAX_KEPT,
      confirmOffers: settings.confirmOffers === true,
      connection: settings.connection ?? 'default',
    });
    store.observeConnections?.({
      disconnected: (server, reason) => {
        const error = new Error(`The connection to ${server} failed: ${reason}.`);
        settings.events.emit({ type: 'disconnected', name: server, error });
      },
      reconnected: (server, outageMs) => settings.events.emit({ type: 'reconnected', name: server, outageMs }),
    });
    this.several = new SeveralKeys({
      clock: this.clock,
      timers: this.queues.laneParts.core.timers,
      atOnce: new AtOnce(this.queues, store),
      one: (call) => this.acquire(call),
      retryAfterMs: (call, leftMs) => this.queues.laneParts.core.retries.of(call, leftMs),
      refused: (call, waitedMs, error) => reportRefused(settings.events, call, waitedMs, error as Error),
    });
  }

  /** Opens the store and verifies that it answers. */
  connect(): Promise<void> {
    return this.store.connect();
  }

  /** What the operator should change about the server. */
  async advice(): Promise<readonly string[]> {
    return (await this.store.advice?.()) ?? [];
  }

  /** Resolves with a lease, or rejects with a `LockError`. */
  acquire(asked: LockCall): Promise<Lease> {
    const call = withinMaxHold(asked);
    const outer = this.outerOf(call.key);
    const fault = this.faultOf(call, outer);
    if (fault !== undefined) return Promise.reject(fault);
    if (outer !== undefined) return Promise.resolve(new NestedLease(outer));
    const since = this.clock.now();
    return new Promise((resolve, reject) => {
      this.queues.enter(new Waiter(this.queues, reportWait(call), since, resolve, reject));
    });
  }

  /** Acquires several keys: one call for each key, in ascending order, equal except for the key. */
  async acquireSeveral(asked: readonly LockCall[]): Promise<Lease> {
    const calls = asked.map(withinMaxHold);
    for (const call of calls) {
      const fault = this.faultOf(call, this.outerOf(call.key));
      if (fault !== undefined) throw fault;
    }
    return calls.length === 1 ? this.acquire(calls[0]) : this.several.acquire(calls);
  }

  /** A snapshot of the lock. */
  async inspect(key: string): Promise<LockInspection> {
    const { store } = this;
    if (store.inspect === undefined) throw notInspected('inspected');
    const state = await store
      .inspect(key)
      .catch((error: Error) => Promise.reject(notAnswered('LockService.inspect', key, error)));
    const holderOf = (of: string, ownerToken: string): Holder | undefined => this.queues.holderOf(of, ownerToken);
    return inspection(key, state, { processId: this.processId, holderOf });
  }

  /** Takes the lock from its holders; resolves with whether it was held. */
  async forceRelease(key: string): Promise<boolean> {
    const { store } = this;
    if (store.force === undefined) throw notInspected('taken away');
    return store
      .force(key)
      .catch((error: Error) => Promise.reject(notAnswered('LockService.forceRelease', key, error)));
  }

  /** From now on, callers and waiters get a `LockShutdownError`. */
  refuse(): void {
    this.refusing = true;
    this.queues.refuseAll();
  }

  /** Resolves when no lease is left. After `timeoutMs`, ends and releases leases from `acquire()`. */
  async drain(timeoutMs: number, report: DrainReport = () => undefined): Promise<void> {
    this.refuse();
    await this.queues.drain(timeoutMs, report);
  }

  /** Stops timers and closes what the store opened. Leases that are still held end with their ttl. */
  async close(): Promise<void> {
    this.refuse();
    this.queues.stop();
    await this.store.close();
  }

  /** The lease under which this call chain holds the key. A promise that outlives its method is no holder. */
  private outerOf(key: string): LeaseHandle | undefined {
    const isHeld = (lease: Lease): boolean => handleOf(lease, key)?.isStillOf(this.queues) === true;
    const held = findHeld(isHeld);
    return held && handleOf(held, key);
  }

  /** Why the call can never be served, independently of other holders; also reported as an event. */
  private faultOf(call: LockCall, outer: LeaseHandle | undefined): Error | undefined {
    const error = outer === undefined ? this.refusal(call) : nestingFault(call, outer);
    if (error !== undefined) reportRefused(this.settings.events, call, 0, error);
    return error;
  }

  private refusal(call: LockCall): Error | undefined {
    if (this.refusing) return shuttingDown(call);
    if (call.signal?.aborted === true) return aborted(call);
    const kinds = this.store.kinds ?? EXCLUSIVE_ONLY;
    if (!kinds.has(call.options.kind)) return notOffered(call, kinds);
    const fault = this.store.keyFault?.(call.key);
    if (fault !== undefined) return unusableKey(call, fault);
    if (call.options.fair === 'strict' && this.store.ordered === false) return unordered(call);
    const { maxWaitersPerKey, maxWaiters } = this.settings;
    if (this.queues.waiting >= maxWaiters) return tooManyWaiters(call, maxWaiters, 'in this process');
    if (this.queues.waitingFor(call) >= maxWaitersPerKey) return tooManyWaiters(call, maxWaitersPerKey, 'for one key');
    if (this.queues.kept.isFullFor(call)) return tooManyKept(call, this.queues.kept.most);
    return undefined;
  }
}

/** Limits the ttl to `maxHold`, so that a crashed holder blocks the key no longer, unless the key is kept on purpose. */
function withinMaxHold(call: LockCall): LockCall {
  const { options } = call;
  if (options.maxHoldMs >= options.ttlMs || options.release === 'expire') return call;
  return { ...call, options: { ...options, ttlMs: Math.max(MIN_TTL_MS, options.maxHoldMs) } };
}

/** A reader may always reenter: if a writer waits, the reader would otherwise wait for itself. */
function nestingFault(call: LockCall, outer: LeaseHandle): Error | undefined {
  const { kind, reentrant } = call.options;
  if (outer.lane === 'read' && (kind === 'write' || kind === 'exclusive')) return upgrade(call, outer.call.name);
  const fits = kind === 'read' ? outer.lane !== 'semaphore' : kind !== 'semaphore' && outer.lane === 'exclusive';
  return fits && (reentrant || outer.lane === 'read') ? undefined : nested(call, outer.call.name);
}

/** The handle of the key within a lease of the call chain. */
function handleOf(lease: Lease, key: string): LeaseHandle | undefined {
  if (lease instanceof JointLease) return handleOf(lease.parts[lease.keys.indexOf(key)] ?? lease.parts[0], key);
  if (lease.key !== key) return undefined;
  if (lease instanceof NestedLease) return lease.outer;
  return lease instanceof LeaseHandle ? lease : undefined;
}
