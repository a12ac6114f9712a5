import {
  type AcquireAnswer,
  type AcquireRequest,
  type LockStore,
  type LockStoreListener,
  MemoryLockStore,
  type ReleaseAnswer,
  type ReleaseRequest,
  type RenewAnswer,
  type RenewRequest,
} from 'nestjs-distribute-lock';

/** A memory store that records its commands. */
export class RecordingStore implements LockStore {
  readonly commands: string[] = [];
  readonly held = new Set<string>();
  connected = 0;
  closed = 0;
  private readonly inner = new MemoryLockStore();

  async connect(): Promise<void> {
    this.connected += 1;
    await this.inner.connect();
  }

  subscribe(processId: string, listener: LockStoreListener): Promise<boolean> {
    return this.inner.subscribe(processId, listener);
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    this.commands.push(`acquire ${request.key}`);
    const answer = await this.inner.acquire(request);
    if (answer.outcome === 'granted') this.held.add(request.key);
    return answer;
  }

  async release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    this.commands.push(`release ${request.key}`);
    const answer = await this.inner.release(request);
    // Without the token of the request, the key has none, or that of an acquire that adds it again.
    if (answer.outcome === 'free' || answer.outcome === 'lost') this.held.delete(request.key);
    return answer;
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return this.inner.renew(requests);
  }

  async close(): Promise<void> {
    this.closed += 1;
    await this.inner.close();
  }
}
