import type { Lease } from '../engine/lease/lease.js';
import type { LockCall } from '../engine/lease/lock-call.js';
import type { LockInspection } from '../engine/lock-inspection.js';
import type { ResolvedLockOptions } from '../options/lock-options.js';
import type { DrainReport } from '../engine/shutdown.js';

/** The name of the connection that has no other name. */
export const DEFAULT_CONNECTION = 'default';

/** Acquires one key, or several keys in ascending order. */
export function acquireOf(
  client: LockClient,
  key: string | readonly string[],
  call: Omit<LockCall, 'key'>,
): Promise<Lease> {
  if (typeof key === 'string') return client.acquire(callFor(key, call));
  return client.acquireMultiKey(key.map((each) => callFor(each, call)));
}

/** Omits the rare field `endsWait` where possible, because a lease keeps its call in memory. */
function callFor(key: string, { name, options, scoped, signal, endsWait }: Omit<LockCall, 'key'>): LockCall {
  return endsWait === undefined
    ? { key, name, options, scoped, signal }
    : { key, name, options, scoped, signal, endsWait };
}

/** The locks of one connection, as the service and the aspect use them. */
export interface LockClient {
  /** Lock options of the module merged with the defaults of the package. */
  readonly defaults: ResolvedLockOptions;
  /** Callers of this process that wait, and how many may. */
  readonly load?: { readonly waiting: number; readonly most: number };
  /** Whether a lease lasts when the application forgets its handle; otherwise the lease then ends. */
  readonly keepsForgotten?: boolean;
  /** Resolves with a lease, or rejects with a `LockError`. */
  acquire(call: LockCall): Promise<Lease>;
  /** Acquires several keys: one call per key in ascending order, identical except for the key. */
  acquireMultiKey(calls: readonly LockCall[]): Promise<Lease>;
  /** Returns the current state of the lock. */
  inspect(key: string): Promise<LockInspection>;
  /** Ends all leases of the lock, or the one with this fencing token; resolves with whether there was one. */
  forceRelease(key: string, fencingToken?: number): Promise<boolean>;
  /** Takes the lock from its holders in one step. */
  steal(call: LockCall): Promise<Lease>;
  /** Rejects waiters and all further calls with a `LockShutdownError`. */
  refuse(): void;
  /** Resolves when no lease is held, or after `timeoutMs`; then it aborts and releases the leases from `acquire()`. */
  drain(timeoutMs: number, report?: DrainReport): Promise<void>;
  /** Stops timers and closes connections. */
  close(): Promise<void>;
}
