import type { Lease } from '../lease/lease.js';
import type { ResolvedLockOptions } from '../options/lock-options.js';

/** One request for a lock, everything resolved. */
export interface LockCall {
  readonly key: string;
  /** What messages and events call it: the key template, or the method of `LockService`. */
  readonly label: string;
  readonly options: ResolvedLockOptions;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/** The lock core of one connection, as the service and the aspect use it. */
export interface LockClient {
  /** Lock options of the module, over the package's own defaults. */
  readonly defaults: ResolvedLockOptions;
  /** Resolves with a lease, or rejects with a `LockError`. */
  acquire(call: LockCall): Promise<Lease>;
  /** From now on new calls and waiters get a `LockShutdownError`. */
  refuse(): void;
  /** Resolves when nothing is held any more, or after `timeoutMs`, when leases from `acquire()` are aborted and released. */
  drain(timeoutMs: number): Promise<void>;
  /** Stops timers and closes what was opened here. */
  close(): Promise<void>;
}
