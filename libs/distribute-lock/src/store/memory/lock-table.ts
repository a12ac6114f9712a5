import type {
  AcquireAnswer,
  AcquireRequest,
  LockMessage,
  ReleaseAnswer,
  ReleaseRequest,
  RenewRequest,
} from '../lock-store.js';
import { CLAIM_WINDOW_MS, QUEUE_TTL_MS } from '../protocol.js';

const TOKEN = /^([\w-]{22}):[0-9A-Za-z]+(?::[0-9A-Za-z]+)?$/;
/** What stands at the key of a semaphore. */
const SEMAPHORE = /^semaphore:(\d+)$/;

interface Lock {
  readonly owner: string;
  /** `Infinity` for a foreign lock without an end. */
  endsAt: number;
}

interface Queue {
  readonly tokens: string[];
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
  private readonly queues = new Map<string, Queue>();
  private unusedFence = 0;

  constructor(private readonly world: TableWorld) {}

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
    const foreign = !TOKEN.test(owner);
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
    const queue = this.queues.get(key);
    if (queue === undefined || queue.endsAt > this.world.now()) return queue?.tokens ?? [];
    this.queues.delete(key);
    return [];
  }

  /** Puts any value at the key, as a foreign client or a hand would; deletes it when `owner` is undefined. */
  overwrite(key: string, owner: string | undefined, ttlMs = Infinity): void {
    if (owner === undefined) this.locks.delete(key);
    else this.set(key, owner, ttlMs);
  }

  /** Forgets everything, fencing tokens too, as a flushed server would. */
  flush(): void {
    this.locks.clear();
    this.queues.clear();
    this.unusedFence = 0;
  }

  /** Keys that still exist. */
  keys(): string[] {
    return [...new Set([...this.locks.keys(), ...this.queues.keys()])].filter(
      (key) => this.owner(key) !== undefined || this.queued(key).length > 0,
    );
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
    const first = Math.max(this.unusedFence, Math.floor(this.world.now() * 1000));
    this.unusedFence = first + block;
    return { outcome: 'granted', fencingToken: first, waiting: this.waiting(key) };
  }

  private set(key: string, owner: string, ttlMs: number): void {
    this.locks.set(key, { owner, endsAt: this.world.now() + ttlMs });
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
    const tokens = this.queued(key).includes(ownerToken) ? [...this.queued(key)] : [...this.queued(key), ownerToken];
    this.queues.set(key, { tokens, endsAt: this.world.now() + QUEUE_TTL_MS });
  }

  private unqueue(key: string, ownerToken: string): void {
    const queue = this.queues.get(key);
    const at = queue?.tokens.indexOf(ownerToken) ?? -1;
    if (queue === undefined || at < 0) return;
    queue.tokens.splice(at, 1);
    if (queue.tokens.length === 0) this.queues.delete(key);
  }
}

function processOf(token: string): string | undefined {
  return TOKEN.exec(token)?.[1];
}
