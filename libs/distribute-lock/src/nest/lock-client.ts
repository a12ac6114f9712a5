import type { Lease } from '../lease/lease.js';
import type { LockCall } from '../lease/lock-call.js';
import type { LockInspection } from '../lease/lock-inspection.js';
import type { ResolvedLockOptions } from '../options/lock-options.js';

/** Takes one key, or several that are in ascending order. */
export function acquireOf(
  client: LockClient,
  key: string | readonly string[],
  call: Omit<LockCall, 'key'>,
): Promise<Lease> {
  if (typeof key === 'string') return client.acquire(callFor(key, call));
  return client.acquireSeveral(key.map((each) => callFor(each, call)));
}

/** A lease keeps its call, so a field that few calls have is not on all of them. */
function callFor(key: string, { name, options, scoped, signal, endsWait }: Omit<LockCall, 'key'>): LockCall {
  return endsWait === undefined
    ? { key, name, options, scoped, signal }
    : { key, name, options, scoped, signal, endsWait };
}

/** The lock core of one connection, as the service and the aspect use it. */
export interface LockClient {
  /** Lock options of the module, over the package's own defaults. */
  readonly defaults: ResolvedLockOptions;
  /** Resolves with a lease, or rejects with a `LockError`. */
  acquire(call: LockCall): Promise<Lease>;
  /** The same for several keys: one call for each, in ascending order, alike but for the key. */
  acquireSeveral(calls: readonly LockCall[]): Promise<Lease>;
  /** What is known of the lock at this moment. */
  inspect(key: string): Promise<LockInspection>;
  /** Takes the lock away from whoever has it; answers whether anybody had it. */
  forceRelease(key: string): Promise<boolean>;
  /** From now on new calls and waiters get a `LockShutdownError`. */
  refuse(): void;
  /** Resolves when nothing is held any more, or after `timeoutMs`, when leases from `acquire()` are aborted and released. */
  drain(timeoutMs: number): Promise<void>;
  /** Stops timers and closes what was opened here. */
  close(): Promise<void>;
}
