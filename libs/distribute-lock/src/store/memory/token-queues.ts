import { QUEUE_TTL_MS } from '../protocol.js';
import type { TableWorld } from './table-state.js';

interface Queue {
  readonly tokens: string[];
  endsAt: number;
}

/** Waiting owner tokens by key, in order; a queue ends a while after the last question. */
export class TokenQueues {
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly world: Pick<TableWorld, 'now'>) {}

  of(key: string): readonly string[] {
    const queue = this.queues.get(key);
    if (queue === undefined || queue.endsAt > this.world.now()) return queue?.tokens ?? [];
    this.queues.delete(key);
    return [];
  }

  /** A token that stands there keeps its place. */
  append(key: string, ownerToken: string): void {
    const present = this.of(key);
    const tokens = present.includes(ownerToken) ? [...present] : [...present, ownerToken];
    this.queues.set(key, { tokens, endsAt: this.world.now() + QUEUE_TTL_MS });
  }

  /** Answers whether it was there. */
  remove(key: string, ownerToken: string): boolean {
    const queue = this.queues.get(key);
    const at = queue?.tokens.indexOf(ownerToken) ?? -1;
    if (queue === undefined || at < 0) return false;
    queue.tokens.splice(at, 1);
    if (queue.tokens.length === 0) this.queues.delete(key);
    return true;
  }

  /** Those where somebody waits. */
  keys(): string[] {
    return [...this.queues.keys()].filter((key) => this.of(key).length > 0);
  }

  clear(): void {
    this.queues.clear();
  }
}
