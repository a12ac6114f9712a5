import { processClock, type Clock } from '../../runtime/clock.js';
import { outside } from '../../runtime/outside.js';
import { LONGEST_MS } from '../../runtime/timers.js';
import { takeAway } from '../lock-admin.js';
import {
  type LockState,
  type AcquireAllAnswer,
  type AcquireAnswer,
  type AcquireRequest,
  type DowngradeRequest,
  LOCK_KINDS,
  type LockHints,
  type LockKind,
  type LockMessage,
  type LockInquiry,
  type LockStore,
  type LeaseTickets,
  type LockStoreListener,
  type ReleaseAnswer,
  type ReleaseRequest,
  type RenewAnswer,
  type RenewRequest,
} from '../lock-store.js';
import { processOf } from '../../runtime/owner-token.js';
import { MemoryLocks } from './memory-locks.js';
import { memoryTickets } from './memory-tickets.js';

/**
 * A lock store in the memory of one process, with the protocol of the Redis store.
 *
 * For tests and experiments: it excludes only callers of this process. Several modules may share one instance.
 * @public
 */
export class MemoryLockStore implements LockStore {
  readonly kinds: ReadonlySet<LockKind> = LOCK_KINDS;
  /** @internal */
  readonly locks: MemoryLocks;
  readonly tickets: LeaseTickets;
  private readonly listeners = new Map<string, LockStoreListener>();
  private readonly hintReceivers = new Set<(text: string) => void>();
  /** How many lock engines have waiting callers. */
  private enginesWaiting = 0;
  private keepsAlive: NodeJS.Timeout | undefined;

  /** @internal */
  constructor(private readonly clock: Clock = processClock) {
    // Fencing tokens start from the time of day, as on a server, so that they also increase across processes.
    this.locks = new MemoryLocks({
      now: () => performance.timeOrigin + this.clock.now(),
      publish: (processId, message) => this.publish(processId, message),
    });
    this.tickets = memoryTickets(this.locks);
  }

  async connect(): Promise<void> {}

  async subscribe(processId: string, listener: LockStoreListener): Promise<boolean> {
    this.listeners.set(processId, listener);
    return true;
  }

  /** Waiting callers keep the process alive, as the connections of other stores do. */
  messagesExpected(expected: boolean): void {
    if (this.clock !== processClock) return;
    this.enginesWaiting += expected ? 1 : -1;
    this.keepsAlive ??= outside(() => setInterval(() => {}, LONGEST_MS));
    if (this.enginesWaiting > 0) this.keepsAlive.ref();
    else this.keepsAlive.unref();
  }

  hints(receive: (text: string) => void): LockHints {
    return {
      open: async () => void this.hintReceivers.add(receive),
      publish: (text) => this.clock.nextTurn(() => this.hintReceivers.forEach((each) => each(text))),
      close: () => void this.hintReceivers.delete(receive),
    };
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    return this.locks.acquire(request);
  }

  async acquireAll(requests: readonly AcquireRequest[]): Promise<AcquireAllAnswer> {
    return this.locks.acquireAll(requests);
  }

  async release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    return this.locks.release(request);
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return requests.map((request) => this.locks.renew(request));
  }

  async downgrade(request: DowngradeRequest): Promise<RenewAnswer> {
    return this.locks.downgrade(request);
  }

  async inspect(key: string): Promise<LockState> {
    return this.locks.inspect(key);
  }

  async force(key: string, only?: string): Promise<boolean> {
    const deleteForeign = async (value: string): Promise<boolean> => this.locks.deleteForeign(key, value);
    return takeAway(this, key, this.locks.inspect(key), deleteForeign, only);
  }

  async askProcess(inquiry: LockInquiry): Promise<string | undefined> {
    return this.listeners.get(processOf(inquiry.ownerToken)!)?.describe?.(inquiry);
  }

  async revoked(key: string, ownerToken: string): Promise<unknown> {
    return this.publish(processOf(ownerToken)!, { type: 'revoked', key, ownerToken });
  }

  async close(): Promise<void> {}

  private publish(processId: string, message: LockMessage): number {
    const listener = this.listeners.get(processId);
    if (listener === undefined) return 0;
    void Promise.resolve().then(() => listener.message(message));
    return 1;
  }
}
