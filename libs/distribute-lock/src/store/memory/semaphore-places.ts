import { processOf } from '../../runtime/owner-token.js';
import { CLAIM_WINDOW_MS } from '../protocol.js';
import { TokenQueues } from './token-queues.js';

/** Number of places at the head of a queue that are searched for another process. */
const MOST_LOOKED_AT = 32;

/** Waiters for permits, in order. A place counts until its process has sent no attempt for a claim window. */
export class SemaphorePlaces {
  private readonly queues: TokenQueues;
  private readonly countUntil = new Map<string, number>();

  /** @param now - the time in whole milliseconds */
  constructor(private readonly now: () => number) {
    this.queues = new TokenQueues({ now });
  }

  of(key: string): readonly string[] {
    return this.queues.of(key);
  }

  keys(): string[] {
    return this.queues.keys();
  }

  /** Returns whether the token was already queued. */
  enqueue(key: string, ownerToken: string): boolean {
    const stood = this.queues.append(key, ownerToken);
    this.ask(ownerToken);
    return stood;
  }

  /** Extends the time for which the place of the token counts. */
  ask(ownerToken: string): void {
    this.countUntil.set(ownerToken, this.now() + CLAIM_WINDOW_MS);
  }

  leave(key: string, ownerToken: string): void {
    this.queues.remove(key, ownerToken);
    this.countUntil.delete(ownerToken);
  }

  /** Time until which the place of the token counts. */
  endOf(ownerToken: string): number {
    return this.countUntil.get(ownerToken) ?? this.now();
  }

  /** 1 when another process waits, else 0. Places of the own process are no contention. */
  others(key: string, ownerToken: string): number {
    const own = processOf(ownerToken);
    const first = this.of(key).slice(0, MOST_LOOKED_AT + 1);
    return first.some((waiting) => processOf(waiting) !== own) ? 1 : 0;
  }

  clear(): void {
    this.queues.clear();
    this.countUntil.clear();
  }
}
