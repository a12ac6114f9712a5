import { processOf } from '../../runtime/owner-token.js';
import { CLAIM_WINDOW_MS, MOST_SILENT_READ, MOST_SILENT_REMOVED, QUEUE_TTL_MS } from '../protocol.js';

interface Queue {
  readonly tokens: string[];
  /** Time of the last attempt of each token. */
  readonly attemptedAt: Map<string, number>;
  endsAt: number;
}

/** Waiting owner tokens by key, in order. A queue expires some time after its last attempt. */
export class TokenQueues {
  private readonly queues = new Map<string, Queue>();

  /** @param host - `now` is the time in milliseconds */
  constructor(private readonly host: { now(): number }) {}

  of(key: string): readonly string[] {
    return this.queue(key)?.tokens ?? [];
  }

  /** Queues a token; a queued token keeps its place. Returns whether it was already queued. */
  append(key: string, ownerToken: string): boolean {
    const now = this.host.now();
    const queue = this.queue(key) ?? { tokens: [], attemptedAt: new Map<string, number>(), endsAt: 0 };
    const stood = queue.attemptedAt.has(ownerToken);
    if (!stood) queue.tokens.push(ownerToken);
    queue.attemptedAt.set(ownerToken, Math.floor(now));
    queue.endsAt = now + QUEUE_TTL_MS;
    this.queues.set(key, queue);
    return stood;
  }

  /** Returns whether the token was queued. */
  remove(key: string, ownerToken: string): boolean {
    const queue = this.queues.get(key);
    if (queue?.attemptedAt.delete(ownerToken) !== true) return false;
    queue.tokens.splice(queue.tokens.indexOf(ownerToken), 1);
    if (queue.tokens.length === 0) this.queues.delete(key);
    return true;
  }

  /** Removes the tokens of processes without an attempt in the last claim window; see `lib/silent.lua`. */
  removeSilent(key: string, ownerToken: string): boolean {
    const queue = this.queue(key);
    if (queue === undefined || !this.isSilent(queue, queue.tokens[0])) return false;
    const read = queue.tokens.slice(0, MOST_SILENT_READ);
    const live = new Set([ownerToken, ...read.filter((token) => !this.isSilent(queue, token))].map(processOf));
    const silent = read.filter((token) => !live.has(processOf(token))).slice(0, MOST_SILENT_REMOVED);
    for (const token of silent) this.remove(key, token);
    return silent.length === MOST_SILENT_REMOVED;
  }

  /** Sets the last attempt of the token to `forMs` ago. */
  silence(key: string, ownerToken: string, forMs: number): void {
    const queue = this.queues.get(key);
    if (queue?.attemptedAt.has(ownerToken) === true)
      queue.attemptedAt.set(ownerToken, Math.floor(this.host.now()) - forMs);
  }

  /** Keys with waiters. */
  keys(): string[] {
    return [...this.queues.keys()].filter((key) => this.of(key).length > 0);
  }

  clear(): void {
    this.queues.clear();
  }

  private queue(key: string): Queue | undefined {
    const queue = this.queues.get(key);
    if (queue === undefined || queue.endsAt > this.host.now()) return queue;
    this.queues.delete(key);
    return undefined;
  }

  private isSilent({ attemptedAt }: Queue, ownerToken: string): boolean {
    return Math.floor(this.host.now()) - attemptedAt.get(ownerToken)! >= CLAIM_WINDOW_MS;
  }
}
