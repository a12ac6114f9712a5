import type {
  AcquireAnswer,
  AcquireRequest,
  LockMessage,
  ReleaseAnswer,
  ReleaseRequest,
  RenewRequest,
} from '../lock-store.js';
import { processOf } from '../../runtime/owner-token.js';
import { CLAIM_WINDOW_MS } from '../protocol.js';
import { TokenQueues } from './token-queues.js';

/** What stands at the key of a semaphore. */
export const SEMAPHORE = /^semaphore:(\d+)$/;

interface Lock {
  readonly owner: string;
  /** `Infinity` for a foreign lock without an end. */
  endsAt: number;
}

/** What a table needs of the world around it. */
export interface TableWorld {
  /** Milliseconds. */
  now(): number;
  /** Answers how many received the message. */
  publish(processId: string, message: LockMessage): number;
}

/**
 * The protocol in memory: the same steps, in the same order, as the scripts of the Redis store, so that what holds for one
 * holds for the other. It is the back end of the memory store and the model that the simulation runs against.
 */
export class LockTable {
  private readonly locks = new Map<string, Lock>();
  private readonly queues: TokenQueues;
  private unusedFence = 0;

  constructor(private readonly world: TableWorld) {
    this.queues = new TokenQueues(world);
  }

  acquire({ key, ownerToken, ttlMs, wait, block }: AcquireRequest): AcquireAnswer {
    let owner = this.owner(key);
    if (owner === ownerToken) {
      this.raise(key, ttlMs);
      this.unqueue(key, ownerToken);
      return this.granted(key, block);
    }
    const permits = SEMAPHORE.exec(owner ?? '')?.[1];
    if (permits !== undefined) {
      this.unqueue(key, ownerToken);
      return { outcome: 'mismatch', permits: Number(permits) };
    }
    owner ??= this.offerToHead(key, ownerToken);
    if (owner === undefined) {
      this.set(key, ownerToken, ttlMs);
      this.unqueue(key, ownerToken);
      return this.granted(key, block);
    }
    const foreign = processOf(owner) === undefined;
    if (!wait) return { outcome: 'busy', remainingMs: this.leftMs(key), foreign };
    this.append(key, ownerToken);
    if (!foreign) this.tell(owner, 'contended', key);
    return { outcome: 'queued', remainingMs: this.leftMs(key), foreign };
  }

  release({ key, ownerToken, next, grantOwn }: ReleaseRequest): ReleaseAnswer {
    this.unqueue(key, ownerToken);
    if (this.owner(key) !== ownerToken) return { outcome: 'lost', resent: false };
    if (next !== undefined) this.append(key, next.ownerToken);
    const own = grantOwn === undefined ? undefined : processOf(ownerToken);
    for (let head = this.head(key); head !== undefined; head = this.head(key)) {
      if (head === next?.ownerToken || (own !== undefined && processOf(head) === own)) {
        this.unqueue(key, head);
        const { ttlMs, block } = (next ?? grantOwn)!;
        this.set(key, head, ttlMs);
        return { ...this.granted(key, block), ownerToken: head };
      }
      if (this.offer(key, head)) {
        return next === undefined ? { outcome: 'passed' } : { outcome: 'queued', remainingMs: CLAIM_WINDOW_MS };
      }
    }
    this.locks.delete(key);
    return { outcome: 'free' };
  }

  renew({ key, ownerToken, ttlMs }: RenewRequest): number | 'lost' {
    if (this.owner(key) !== ownerToken) return 'lost';
    this.raise(key, ttlMs);
    return this.waiting(key);
  }

  /** The first of so many. */
  fencingTokens(block: number): number {
    const first = Math.max(this.unusedFence, Math.floor(this.world.now() * 1000));
    this.unusedFence = first + block;
    return first;
  }

  /** Who has the lock; it may be a foreign client. */
  owner(key: string): string | undefined {
    const lock = this.locks.get(key);
    if (lock === undefined || lock.endsAt > this.world.now()) return lock?.owner;
    this.locks.delete(key);
    return undefined;
  }

  /** -1 without an end, as Redis says it; whole milliseconds. */
  leftMs(key: string): number {
    const lock = this.locks.get(key);
    return lock === undefined || lock.endsAt === Infinity ? -1 : Math.ceil(lock.endsAt - this.world.now());
  }

  /** Waiting owner tokens in order. */
  queued(key: string): readonly string[] {
    return this.queues.of(key);
  }

  /** Puts any value at the key, as a foreign client or a hand would; deletes it when `owner` is undefined. */
  overwrite(key: string, owner: string | undefined, ttlMs = Infinity): void {
    if (owner === undefined) this.locks.delete(key);
    else this.set(key, owner, ttlMs);
  }

  /** Puts a value at the key that ends at this moment. */
  put(key: string, owner: string, endsAt: number): void {
    this.locks.set(key, { owner, endsAt });
  }

  /** Forgets everything, fencing tokens too, as a flushed server would. */
  flush(): void {
    this.locks.clear();
    this.queues.clear();
    this.unusedFence = 0;
  }

  /** Keys that still exist. */
  keys(): string[] {
    const held = [...this.locks.keys()].filter((key) => this.owner(key) !== undefined);
    return [...new Set([...held, ...this.queues.keys()])];
  }

  private offerToHead(key: string, ownerToken: string): string | undefined {
    for (let head = this.head(key); head !== undefined && head !== ownerToken; head = this.head(key)) {
      if (this.offer(key, head)) return head;
    }
    return undefined;
  }

  /** The lock carries the waiter's token for the claim window; false when the waiter's process is gone. */
  private offer(key: string, head: string): boolean {
    this.unqueue(key, head);
    this.set(key, head, CLAIM_WINDOW_MS);
    if (this.tell(head, 'granted', key) > 0) return true;
    this.locks.delete(key);
    return false;
  }

  private tell(ownerToken: string, type: LockMessage['type'], key: string): number {
    const processId = processOf(ownerToken);
    return processId === undefined ? 0 : this.world.publish(processId, { type, key, ownerToken });
  }

  private granted(key: string, block: number): { outcome: 'granted'; fencingToken: number; waiting: number } {
    return { outcome: 'granted', fencingToken: this.fencingTokens(block), waiting: this.waiting(key) };
  }

  private set(key: string, owner: string, ttlMs: number): void {
    this.put(key, owner, this.world.now() + ttlMs);
  }

  private raise(key: string, ttlMs: number): void {
    const lock = this.locks.get(key);
    if (lock !== undefined) lock.endsAt = Math.max(lock.endsAt, this.world.now() + ttlMs);
  }

  private head(key: string): string | undefined {
    return this.queued(key)[0];
  }

  private waiting(key: string): number {
    return this.queued(key).length;
  }

  private append(key: string, ownerToken: string): void {
    this.queues.append(key, ownerToken);
  }

  private unqueue(key: string, ownerToken: string): void {
    this.queues.remove(key, ownerToken);
  }
}
