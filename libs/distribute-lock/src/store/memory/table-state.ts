import type { LockMessage } from '../lock-store.js';
import { processOf } from '../../runtime/owner-token.js';
import { AHEAD_MICROS, CLAIM_WINDOW_MS, OFFERED_NUMBERS, OFFERED_PERMIT_NUMBERS } from '../protocol.js';
import { Sweep } from './sweep.js';
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
  /** False where that number says nothing, as in Redis Cluster: whoever was told is then taken for alive. */
  readonly counted?: boolean;
}

/** Locks and their queues as a server keeps them, and the smallest steps of the commands. */
export abstract class TableState {
  protected readonly locks = new Map<string, Lock>();
  private readonly sweep = new Sweep();
  private readonly queues: TokenQueues;
  protected unusedFence = 0;

  constructor(protected readonly world: TableWorld) {
    this.queues = new TokenQueues(world);
  }

  /** The first of so many. */
  fencingTokens(block: number): number {
    const first = Math.max(this.unusedFence, Math.floor(this.world.now() * 1000));
    this.unusedFence = first + block;
    return first;
  }

  /** Of an offer of permits: fewer while the numbers are ahead of the clock. */
  offeredPermitNumbers(): Pick<LockMessage, 'fencingToken' | 'block'> {
    const ahead = this.unusedFence - this.world.now() * 1000;
    const block = ahead < AHEAD_MICROS ? OFFERED_PERMIT_NUMBERS : OFFERED_NUMBERS;
    return { fencingToken: this.fencingTokens(block), block };
  }

  /** The first of so many, without a look at the clock. */
  protected countUp(block: number): number {
    this.unusedFence += block;
    return this.unusedFence - block;
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
    this.sweep.of(this.locks, (each) => this.owner(each) === undefined);
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

  /** The lock carries the waiter's token for the claim window; false when the waiter's process is gone. */
  protected offer(key: string, head: string): boolean {
    this.unqueue(key, head);
    this.set(key, head, CLAIM_WINDOW_MS);
    if (this.tell(head, 'granted', key, this.fencingTokens(OFFERED_NUMBERS)) > 0) return true;
    this.locks.delete(key);
    return false;
  }

  protected tell(ownerToken: string, type: LockMessage['type'], key: string, fencingToken?: number): number {
    const processId = processOf(ownerToken);
    if (processId === undefined) return 0;
    const message = { type, key, ownerToken };
    const receivers = this.world.publish(
      processId,
      fencingToken === undefined ? message : { ...message, fencingToken },
    );
    return this.world.counted === false ? 1 : receivers;
  }

  protected set(key: string, owner: string, ttlMs: number): void {
    this.put(key, owner, this.world.now() + ttlMs);
  }

  protected raise(key: string, ttlMs: number): void {
    const lock = this.locks.get(key);
    if (lock !== undefined) lock.endsAt = Math.max(lock.endsAt, this.world.now() + ttlMs);
  }

  protected waiting(key: string): number {
    return this.queued(key).length;
  }

  /** Answers whether it stood there before. */
  protected append(key: string, ownerToken: string): boolean {
    return this.queues.append(key, ownerToken);
  }

  /**
   * The lock is free although processes wait. Removes the tokens of processes that do not respond; `ownerToken` asks now. Answers
   * whether more such tokens may stand there.
   */
  protected removeSilent(key: string, ownerToken: string): boolean {
    return this.queues.removeSilent(key, ownerToken);
  }

  /** Answers whether it was there. */
  protected unqueue(key: string, ownerToken: string): boolean {
    return this.queues.remove(key, ownerToken);
  }
}
