import type { LockEvents } from '../events/lock-events.js';
import { findHeld } from '../lease/held-leases.js';
import { LeaseHandle } from '../lease/lease-handle.js';
import type { Lease } from '../lease/lease.js';
import type { Holder } from '../lease/holder.js';
import type { LockCall } from '../lease/lock-call.js';
import type { LockInspection } from '../lease/lock-inspection.js';
import { NestedLease } from '../lease/nested-lease.js';
import type { ResolvedLockOptions } from '../options/lock-options.js';
import { processClock, type Clock } from '../runtime/clock.js';
import { newProcessId } from '../runtime/owner-token.js';
import type { LockKind, LockStore } from '../store/lock-store.js';
import { inspection } from './inspecting.js';
import { KeyQueues } from './key-queues.js';
import {
  aborted,
  nested,
  notAnswered,
  notInspected,
  notOffered,
  shuttingDown,
  tooManyWaiters,
  unordered,
  unusableKey,
  upgrade,
} from './refusals.js';
import { Waiter } from './waiter.js';

const EXCLUSIVE_ONLY: ReadonlySet<LockKind> = new Set(['exclusive']);

/** How a {@link LockCore} behaves. */
export interface LockCoreSettings {
  readonly defaults: ResolvedLockOptions;
  /** Callers that may wait for one key in this process. */
  readonly maxWaitersPerKey: number;
  /** Callers that may wait in this process. */
  readonly maxWaiters: number;
  readonly events: LockEvents;
  /** Replaced in tests. */
  readonly clock?: Clock;
  /** Numbers from 0 to 1 for jitter; replaced in tests. */
  readonly random?: () => number;
  /** Replaced in tests. */
  readonly processId?: string;
}

/** The lock core of one store in this process: callers in, leases out. */
export class LockCore {
  readonly defaults: ResolvedLockOptions;
  private readonly queues: KeyQueues;
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
    });
  }

  /** Opens the store and proves that it answers. */
  connect(): Promise<void> {
    return this.store.connect();
  }

  /** What an operator should change about the server. */
  async advice(): Promise<readonly string[]> {
    return (await this.store.advice?.()) ?? [];
  }

  /** Resolves with a lease, or rejects with a `LockError`. */
  acquire(call: LockCall): Promise<Lease> {
    const outer = this.outerOf(call.key);
    if (outer !== undefined) return this.enterAgain(call, outer);
    const refusal = this.refusal(call);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      this.queues.enter(new Waiter(this.queues, call, this.clock.now(), resolve, reject));
    });
  }

  /** What is known of the lock at this moment. */
  async inspect(key: string): Promise<LockInspection> {
    const { store } = this;
    if (store.inspect === undefined) throw notInspected('inspected');
    const state = await store
      .inspect(key)
      .catch((error: Error) => Promise.reject(notAnswered('LockService.inspect', key, error)));
    const holderOf = (of: string, ownerToken: string): Holder | undefined => this.queues.holderOf(of, ownerToken);
    return inspection(key, state, { processId: this.processId, holderOf });
  }

  /** Takes the lock away from whoever has it; answers whether anybody had it. */
  async forceRelease(key: string): Promise<boolean> {
    const { store } = this;
    if (store.force === undefined) throw notInspected('taken away');
    return store
      .force(key)
      .catch((error: Error) => Promise.reject(notAnswered('LockService.forceRelease', key, error)));
  }

  /** From now on new calls and waiters get a `LockShutdownError`. */
  refuse(): void {
    this.refusing = true;
    this.queues.refuseAll();
  }

  /** Resolves when nothing is held any more, or after `timeoutMs`, when leases from `acquire()` are aborted and released. */
  async drain(timeoutMs: number): Promise<void> {
    this.refuse();
    await this.queues.drain(timeoutMs);
  }

  /** Stops timers and closes what the store opened; what is still held ends with its ttl. */
  async close(): Promise<void> {
    this.refuse();
    this.queues.stop();
    await this.store.close();
  }

  /** The lease under which this very call chain holds the key. A promise that outlived its method is no holder. */
  private outerOf(key: string): LeaseHandle | undefined {
    const held = findHeld((lease) => lease.key === key && handleOf(lease)?.isStillOf(this.queues) === true);
    return held && handleOf(held);
  }

  /** Readers may always enter again: behind a closed gate they would wait for themselves. */
  private enterAgain(call: LockCall, outer: LeaseHandle): Promise<Lease> {
    const { kind, reentrant } = call.options;
    if (outer.lane === 'read' && (kind === 'write' || kind === 'exclusive')) {
      return Promise.reject(upgrade(call, outer.call.label));
    }
    const fits = kind === 'read' ? outer.lane !== 'semaphore' : kind !== 'semaphore' && outer.lane === 'exclusive';
    return fits && (reentrant || outer.lane === 'read')
      ? Promise.resolve(new NestedLease(outer))
      : Promise.reject(nested(call, outer.call.label));
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
    return undefined;
  }
}

function handleOf(lease: Lease): LeaseHandle | undefined {
  if (lease instanceof NestedLease) return lease.outer;
  return lease instanceof LeaseHandle ? lease : undefined;
}
