import { processClock, type Clock } from '../../runtime/clock.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  LockMessage,
  LockStore,
  LockStoreListener,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';
import { LockTable } from './lock-table.js';

/**
 * Locks in the memory of one process, by the protocol of the Redis store.
 *
 * For tests and for trying things out: it excludes callers of this process only. Several modules may share one instance.
 * @public
 */
export class MemoryLockStore implements LockStore {
  /** @internal */
  readonly table: LockTable;
  private readonly listeners = new Map<string, LockStoreListener>();

  /** @internal */
  constructor(private readonly clock: Clock = processClock) {
    // Fencing tokens start from the time of day, as on a server, so that they rise across processes too.
    this.table = new LockTable({
      now: () => performance.timeOrigin + this.clock.now(),
      publish: (processId, message) => this.publish(processId, message),
    });
  }

  async connect(): Promise<void> {}

  async subscribe(processId: string, listener: LockStoreListener): Promise<boolean> {
    this.listeners.set(processId, listener);
    return true;
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    return this.table.acquire(request);
  }

  async release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    return this.table.release(request);
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return requests.map((request) => this.table.renew(request));
  }

  async close(): Promise<void> {}

  private publish(processId: string, message: LockMessage): number {
    const listener = this.listeners.get(processId);
    if (listener === undefined) return 0;
    void Promise.resolve().then(() => listener.message(message));
    return 1;
  }
}
