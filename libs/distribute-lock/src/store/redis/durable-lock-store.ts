import type {
  LockState,
  AcquireAnswer,
  AcquireRequest,
  ConnectionListener,
  DowngradeRequest,
  LockHints,
  LockKind,
  LockInquiry,
  LockStore,
  LockStoreListener,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';

/**
 * Locks whose grants count only after replicas acknowledge them. Only attempts use the connection that waits for
 * replicas, so renewals and releases are not delayed. Only the answer to an attempt is a grant.
 */
export class DurableLockStore implements LockStore {
  readonly kinds: ReadonlySet<LockKind> | undefined;

  constructor(
    private readonly plain: LockStore,
    /** A store whose answers wait for replicas. */
    private readonly acknowledged: LockStore,
  ) {
    this.kinds = plain.kinds;
  }

  async connect(): Promise<void> {
    await Promise.all([this.plain.connect(), this.acknowledged.connect()]);
  }

  subscribe(processId: string, listener: LockStoreListener): Promise<boolean> {
    return this.plain.subscribe(processId, listener);
  }

  /** Both connections lead to the same server. */
  observeConnections(listener: ConnectionListener): void {
    this.plain.observeConnections?.(listener);
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
    return this.acknowledged.acquire(request);
  }

  /**
   * Releases the lock. A process that gets the lock by a release acquires it again, so that replicas confirm the grant.
   */
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

  force(key: string, only?: string): Promise<boolean> {
    return this.plain.force!(key, only);
  }

  askProcess(inquiry: LockInquiry): Promise<string | undefined> {
    return this.plain.askProcess!(inquiry);
  }

  revoked(key: string, ownerToken: string): Promise<unknown> {
    return this.plain.revoked!(key, ownerToken);
  }

  hints(receive: (text: string) => void): LockHints | undefined {
    return this.plain.hints?.(receive);
  }

  async close(): Promise<void> {
    await Promise.all([this.plain.close(), this.acknowledged.close()]);
  }
}
