import type { MemoryLockStore } from '../../libs/distribute-lock/src/store/memory/memory-lock-store.js';
import { NAMES } from '../../libs/distribute-lock/src/store/memory/memory-locks.js';
import type { MemoryServer } from '../../libs/distribute-lock/src/store/memory/memory-server.js';

/** The queues of a lock, and the other helpers. */
const QUEUE = /^s?q1:\{(.*)\}$/;
const HELPER = /^[a-z]+1:/;

interface HelperNames {
  readonly queue: string;
  readonly readers: string;
  readonly gate: string;
  readonly permits: string;
  readonly permitsQueue: string;
}

function helperNamesOf(key: string): HelperNames {
  const [permits, permitsQueue] = NAMES.permits(key);
  return { queue: NAMES.queue(key), readers: NAMES.readers(key), gate: NAMES.gate(key), permits, permitsQueue };
}

/** What tests read and write in the memory of a server, beside its locks. */
export abstract class MemoryState {
  protected abstract readonly server: MemoryServer;
  private readonly names = new Map<string, HelperNames>();

  /** The value of the lock's key: an owner token, or the value of a foreign client. */
  owner(key: string): string | undefined {
    const owner = this.server.call('GET', key);
    return owner === false ? undefined : owner;
  }

  /** Whole milliseconds until the key ends; -1 without an end, -2 without a key. */
  leftMs(key: string): number {
    return this.server.call('PTTL', key);
  }

  queued(key: string): readonly string[] {
    return this.server.call('ZRANGE', this.namesOf(key).queue, 0, -1);
  }

  permitsQueued(key: string): readonly string[] {
    return this.server.call('ZRANGE', this.namesOf(key).permitsQueue, 0, -1);
  }

  /** Writes the key as a foreign client does; deletes it when `owner` is undefined. */
  overwrite(key: string, owner: string | undefined, ttlMs?: number): void {
    if (owner === undefined) this.server.call('DEL', key);
    else if (ttlMs === undefined) this.server.call('SET', key, owner);
    else this.server.call('SET', key, owner, 'PX', Math.ceil(ttlMs));
  }

  /** Keys of locks with a holder or a queue. */
  keys(): string[] {
    const names = this.server.dump().map(([name]) => QUEUE.exec(name)?.[1] ?? name);
    return [...new Set(names.filter((name) => !HELPER.test(name)))];
  }

  protected namesOf(key: string): HelperNames {
    const names = this.names.get(key) ?? helperNamesOf(key);
    this.names.set(key, names);
    return names;
  }
}

/** The state of a store. */
export class StoreState extends MemoryState {
  protected readonly server: MemoryServer;

  constructor(store: MemoryLockStore) {
    super();
    this.server = store.locks.server;
  }
}
