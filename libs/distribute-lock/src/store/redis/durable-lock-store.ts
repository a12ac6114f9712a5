import type { LockState } from '../lock-state.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  DowngradeRequest,
  LockKind,
  LockStore,
  LockStoreListener,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';

/**
 * Locks that replicas have before anybody is told that they were granted. Only questions go over the connection that waits
 * for replicas, so it delays neither renewals nor releases; and only the answer to a question is a grant.
 */
export class DurableLockStore implements LockStore {
  readonly kinds: ReadonlySet<LockKind> | undefined;

  constructor(
    private readonly plain: LockStore,
    /** Its answers wait for replicas. */
    private readonly asking: LockStore,
  ) {
    this.kinds = plain.kinds;
  }

  async connect(): Promise<void> {
    await Promise.all([this.plain.connect(), this.asking.connect()]);
  }

  subscribe(processId: string, listener: LockStoreListener): Promise<boolean> {
    return this.plain.subscribe(processId, {
      // Nobody may begin on an offer that replicas may not have.
      message: ({ type, key, ownerToken }) => listener.message({ type, key, ownerToken }),
      unreadable: () => listener.unreadable?.(),
      unsubscribed: () => listener.unsubscribed?.(),
      resubscribed: () => listener.resubscribed(),
    });
  }

  messagesExpected(expected: boolean): void {
    this.plain.messagesExpected?.(expected);
  }

  messageMissed(): void {
    this.plain.messageMissed?.();
  }

  async advice(): Promise<readonly string[]> {
    return this.plain.advice?.() ?? [];
  }

  keyFault(key: string): string | undefined {
    return this.plain.keyFault?.(key);
  }

  acquire(request: AcquireRequest): PromiseLike<AcquireAnswer> {
    return this.asking.acquire(request);
  }

  /** Whom a release gives the lock asks for it once more, by the message of an offer or because it seems queued. */
  async release({ key, ownerToken, kind, next }: ReleaseRequest): Promise<ReleaseAnswer> {
    const named = kind === undefined ? { key, ownerToken } : { key, ownerToken, kind };
    const answer = await this.plain.release(next === undefined ? named : { ...named, next });
    return answer.outcome === 'granted' ? { outcome: 'queued', remainingMs: 0 } : answer;
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return this.plain.renew(requests);
  }

  renewOne(request: RenewRequest): PromiseLike<RenewAnswer> {
    return this.plain.renewOne!(request);
  }

  downgrade(request: DowngradeRequest): Promise<RenewAnswer> {
    return this.plain.downgrade!(request);
  }

  inspect(key: string): Promise<LockState> {
    return this.plain.inspect!(key);
  }

  force(key: string): Promise<boolean> {
    return this.plain.force!(key);
  }

  async close(): Promise<void> {
    await Promise.all([this.plain.close(), this.asking.close()]);
  }
}
