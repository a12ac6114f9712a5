import type { MemoryLockStore } from '../../libs/distribute-lock/src/store/memory/memory-lock-store.js';
import { NAMES } from '../../libs/distribute-lock/src/store/memory/memory-locks.js';

/** The queues of a lock, and the other helpers. */
const QUEUE = /^s?q1:\{(.*)\}$/;
const HELPER = /^[a-z]+1:/;

/** What tests read and write behind the back of a store in memory. */
export class MemoryState {
  constructor(private readonly store: MemoryLockStore) {}

  /** The value of the lock's key. */
  owner(key: string): string | undefined {
    const owner = this.server.call('GET', key);
    return owner === false ? undefined : owner;
  }

  /** Milliseconds until the key ends; -1 without a TTL, -2 without a key. */
  leftMs(key: string): number {
    return this.server.call('PTTL', key);
  }

  queued(key: string): readonly string[] {
    return this.server.call('ZRANGE', NAMES.queue(key), 0, -1);
  }

  permitsQueued(key: string): readonly string[] {
    return this.server.call('ZRANGE', NAMES.permits(key)[1], 0, -1);
  }

  /** Writes the key as a foreign client does; deletes it when `owner` is undefined. */
  overwrite(key: string, owner: string | undefined, ttlMs?: number): void {
    if (owner === undefined) this.server.call('DEL', key);
    else if (ttlMs === undefined) this.server.call('SET', key, owner);
    else this.server.call('SET', key, owner, 'PX', ttlMs);
  }

  /** Keys of locks with a holder or a queue. */
  keys(): string[] {
    const names = this.server.dump().map(([name]) => QUEUE.exec(name)?.[1] ?? name);
    return [...new Set(names.filter((name) => !HELPER.test(name)))];
  }

  private get server(): MemoryLockStore['locks']['server'] {
    return this.store.locks.server;
  }
}
