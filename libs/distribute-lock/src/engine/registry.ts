import type { TokenKind } from '../runtime/owner-token.js';
import { kindOfToken } from '../runtime/owner-token.js';
import type { KeyQueue } from './key-queue.js';

/** The queues of this process, by lane and key. */
export class Registry {
  private readonly lanes: Readonly<Record<TokenKind, Map<string, KeyQueue>>> = {
    exclusive: new Map(),
    read: new Map(),
    semaphore: new Map(),
  };

  get empty(): boolean {
    const { exclusive, read, semaphore } = this.lanes;
    return exclusive.size + read.size + semaphore.size === 0;
  }

  find(lane: TokenKind, key: string): KeyQueue | undefined {
    return this.lanes[lane].get(key);
  }

  /** The queue that the token belongs to. */
  ofToken(key: string, ownerToken: string): KeyQueue | undefined {
    return this.lanes[kindOfToken(ownerToken)].get(key);
  }

  add(queue: KeyQueue): void {
    this.lanes[queue.lane].set(queue.key, queue);
  }

  /** @returns whether the queue was registered */
  remove(queue: KeyQueue): boolean {
    const lane = this.lanes[queue.lane];
    return lane.get(queue.key) === queue && lane.delete(queue.key);
  }

  all(): KeyQueue[] {
    const { exclusive, read, semaphore } = this.lanes;
    return [...exclusive.values(), ...read.values(), ...semaphore.values()];
  }
}
