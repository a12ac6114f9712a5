import type { LockMessage } from '../lock-store.js';
import { kindOfToken, processOf } from '../../runtime/owner-token.js';
import { CLAIM_WINDOW_MS, MOST_WOKEN, SHORT_OFFER_MS } from '../protocol.js';
import { TokenQueues } from './token-queues.js';

interface StoredLock {
  readonly owner: string;
  /** `Infinity` for a foreign lock without an end. */
  endsAt: number;
}

/** What a table needs of its surroundings: a clock and publication. */
export interface TableHost {
  /** The time in milliseconds. */
  now(): number;
  /** Returns how many subscribers received the message. */
  publish(processId: string, message: LockMessage): number;
  /**
   * False if the number of receivers is unknown, as in Redis Cluster: a notified process is then assumed to respond.
   */
  readonly counted?: boolean;
}

export const isReader = (token: string): boolean => kindOfToken(token) === 'read';

/** Sends a message to the process of the token. Returns whether it may have reached a subscriber. */
export function publishTo(host: TableHost, key: string, ownerToken: string, type: LockMessage['type']): boolean {
  const processId = processOf(ownerToken);
  if (processId === undefined) return false;
  return host.publish(processId, { type, key, ownerToken }) > 0 || host.counted === false;
}

/** Notifies the first process of the queue that a message reaches. */
export function wakeFirst(queue: readonly string[], notify: (ownerToken: string) => boolean): void {
  const tried = new Set<string | undefined>();
  for (const token of queue.slice(0, MOST_WOKEN)) {
    if (!tried.has(processOf(token)) && notify(token)) return;
    tried.add(processOf(token));
  }
}

/** Locks and their queues as a server stores them, with the basic steps of the commands. */
export abstract class TableState {
  protected readonly locks = new Map<string, StoredLock>();
  private readonly sweep = new Sweep();
  private readonly queues: TokenQueues;
  protected unusedFence = 0;

  constructor(protected readonly host: TableHost) {
    this.queues = new TokenQueues(host);
  }

  /** The first of `block` fencing tokens. */
  fencingTokens(block: number): number {
    const first = Math.max(this.unusedFence, Math.floor(this.host.now() * 1000));
    this.unusedFence = first + block;
    return first;
  }

  /** The first of `block` fencing tokens, without reading the clock. */
  protected countUp(block: number): number {
    this.unusedFence += block;
    return this.unusedFence - block;
  }

  /** The owner token at the key, or the value of a foreign client. */
  owner(key: string): string | undefined {
    const lock = this.locks.get(key);
    if (lock === undefined || lock.endsAt > this.host.now()) return lock?.owner;
    this.locks.delete(key);
    return undefined;
  }

  /** Remaining time of the key in whole milliseconds; -1 if it has no end, as in Redis. */
  leftMs(key: string): number {
    const lock = this.locks.get(key);
    return lock === undefined || lock.endsAt === Infinity ? -1 : Math.ceil(lock.endsAt - this.host.now());
  }

  queued(key: string): readonly string[] {
    return this.queues.of(key);
  }

  /** Writes any value to the key, as a foreign client may; deletes the key when `owner` is undefined. */
  overwrite(key: string, owner: string | undefined, ttlMs = Infinity): void {
    if (owner === undefined) this.locks.delete(key);
    else this.set(key, owner, ttlMs);
  }

  /** Writes a value that expires at `endsAt`. */
  put(key: string, owner: string, endsAt: number): void {
    this.locks.set(key, { owner, endsAt });
    this.sweep.of(this.locks, (each) => this.owner(each) === undefined);
  }

  /** Removes all state, including fencing tokens, as FLUSHALL does on a server. */
  flush(): void {
    this.locks.clear();
    this.queues.clear();
    this.unusedFence = 0;
  }

  /** Keys with a holder or a queue. */
  keys(): string[] {
    const held = [...this.locks.keys()].filter((key) => this.owner(key) !== undefined);
    return [...new Set([...held, ...this.queues.keys()])];
  }

  /**
   * Offers the lock: the key holds the token of the waiter for the claim window. If the message reaches no subscriber,
   * the offer is short, the waiter keeps its place, and the next process is notified; see `lib/offer.lua`.
   */
  protected offer(key: string, head: string): void {
    if (this.notify(head, 'granted', key)) {
      this.unqueue(key, head);
      this.set(key, head, CLAIM_WINDOW_MS);
      return;
    }
    this.set(key, head, SHORT_OFFER_MS);
    this.wakeNext(key, head);
    this.queues.silence(key, head, CLAIM_WINDOW_MS);
  }

  /** Notifies the first waiting process that a message reaches, `except` the token of an offer. */
  protected wakeNext(key: string, except?: string): void {
    const queued = this.queued(key).filter((token) => token !== except);
    const inOrder = queued.sort((a, b) => Number(isReader(b)) - Number(isReader(a)));
    wakeFirst(inOrder, (token) => this.notify(token, 'granted', key));
  }

  /** Returns whether the message may have reached a subscriber. */
  protected notify(ownerToken: string, type: LockMessage['type'], key: string): boolean {
    return publishTo(this.host, key, ownerToken, type);
  }

  protected set(key: string, owner: string, ttlMs: number): void {
    this.put(key, owner, this.host.now() + ttlMs);
  }

  protected raise(key: string, ttlMs: number): void {
    const lock = this.locks.get(key);
    if (lock !== undefined) lock.endsAt = Math.max(lock.endsAt, this.host.now() + ttlMs);
  }

  protected waiting(key: string): number {
    return this.queued(key).length;
  }

  /** Returns whether the token was already queued. */
  protected append(key: string, ownerToken: string): boolean {
    return this.queues.append(key, ownerToken);
  }

  /**
   * Removes waiters that do not respond while the lock is free; `ownerToken` belongs to the caller. Returns whether
   * more of them may be left.
   */
  protected removeSilent(key: string, ownerToken: string): boolean {
    return this.queues.removeSilent(key, ownerToken);
  }

  /** Returns whether the token was queued. */
  protected unqueue(key: string, ownerToken: string): boolean {
    return this.queues.remove(key, ownerToken);
  }
}

/** Maps up to this size are not swept. */
const FEW = 1_024;

/** Removes expired entries from a map whenever its size exceeds twice the size after the last sweep. */
export class Sweep {
  private above = FEW;

  of<T>(map: Map<string, T>, isOver: (key: string) => boolean): void {
    if (map.size <= this.above) return;
    for (const key of map.keys()) if (isOver(key)) map.delete(key);
    this.above = Math.max(FEW, 2 * map.size);
  }
}
