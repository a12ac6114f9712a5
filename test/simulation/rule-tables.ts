import type {
  AcquireAllAnswer,
  AcquireAnswer,
  AcquireRequest,
  DowngradeRequest,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../../libs/distribute-lock/src/store/lock-store.js';
import { READERS } from '../../libs/distribute-lock/src/store/lock-value.js';
import { MemoryLocks } from '../../libs/distribute-lock/src/store/memory/memory-locks.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import type { SimulatedTableHost } from './tables.js';

const NAMES = new RedisKeys('');
/** The queues of a lock, and the other helpers. */
const QUEUE = /^s?q1:\{(.*)\}$/;
const HELPER = /^[a-z]+1:/;

type Renewed = Exclude<RenewAnswer, Error>;

/** The locks of a simulated server, by the rules that Redis executes, and what its watches read. */
export class RuleTable {
  private locks: MemoryLocks;

  constructor(private readonly host: SimulatedTableHost) {
    this.locks = this.newLocks();
  }

  acquire(request: AcquireRequest, counted = false): AcquireAnswer {
    return this.locks.acquire(request, counted);
  }

  acquireAll(requests: readonly AcquireRequest[]): AcquireAllAnswer {
    return this.locks.acquireAll(requests);
  }

  release(request: ReleaseRequest): ReleaseAnswer {
    return this.locks.release(request);
  }

  renew(request: RenewRequest): Renewed {
    return this.locks.renew(request);
  }

  downgrade(request: DowngradeRequest): Renewed {
    return this.locks.downgrade(request);
  }

  /** The owner token at the key, or the value of a foreign client. */
  owner(key: string): string | undefined {
    const owner = this.server.call('GET', key);
    return owner === false ? undefined : owner;
  }

  /** Remaining time of the key in whole milliseconds; -1 if it has no end. */
  leftMs(key: string): number {
    return this.server.call('PTTL', key);
  }

  queued(key: string): readonly string[] {
    return this.server.call('ZRANGE', NAMES.queue(key), 0, -1);
  }

  /** The valid leases of readers. */
  readers(key: string): readonly { readonly ownerToken: string; readonly endsAt: number }[] {
    if (this.owner(key) !== READERS) return [];
    return this.leases(NAMES.readers(key)).map(([ownerToken, endsAt]) => ({ ownerToken, endsAt }));
  }

  /** Remaining lease of this token; undefined when it does not hold the lock. */
  leaseLeftMs(key: string, ownerToken: string): number | undefined {
    const lease = this.readers(key).find((reader) => reader.ownerToken === ownerToken);
    if (lease !== undefined) return lease.endsAt - this.host.now();
    return this.owner(key) === ownerToken ? this.leftMs(key) : undefined;
  }

  /** Ends of the valid leases of permits, by owner token. */
  permits(key: string): ReadonlyMap<string, number> {
    const isSemaphore = this.owner(key)?.startsWith('semaphore:') === true;
    return new Map(isSemaphore ? this.leases(NAMES.permits(key)[0]) : []);
  }

  permitsQueued(key: string): readonly string[] {
    return this.server.call('ZRANGE', NAMES.permits(key)[1], 0, -1);
  }

  /** Writes any value to the key, as a foreign client may; deletes the key when `owner` is undefined. */
  overwrite(key: string, owner: string | undefined, ttlMs?: number): void {
    if (owner === undefined) this.server.call('DEL', key);
    else if (ttlMs === undefined) this.server.call('SET', key, owner);
    else this.server.call('SET', key, owner, 'PX', Math.ceil(ttlMs));
  }

  /** Removes all state, including fencing tokens, as FLUSHALL does. */
  flush(): void {
    this.locks = this.newLocks();
  }

  /** Keys of locks with a holder or a queue. */
  keys(): string[] {
    const names = this.server.dump().map(([name]) => QUEUE.exec(name)?.[1] ?? name);
    return [...new Set(names.filter((name) => !HELPER.test(name)))];
  }

  private get server(): MemoryLocks['server'] {
    return this.locks.server;
  }

  private leases(name: string): [string, number][] {
    const now = Math.floor(this.host.now());
    const flat = this.server.call('ZRANGE', name, `(${now}`, '+inf', 'BYSCORE', 'WITHSCORES');
    return flat.flatMap((token, i) => (i % 2 === 0 ? [[token, Number(flat[i + 1])] as [string, number]] : []));
  }

  private newLocks(): MemoryLocks {
    return new MemoryLocks(this.host, { counted: this.host.counted !== false, sharded: false });
  }
}

/** The semaphores of the same server. */
export class RuleSemaphores {
  constructor(private readonly table: RuleTable) {}

  acquire(request: AcquireRequest): AcquireAnswer {
    return this.table.acquire(request);
  }

  release(request: ReleaseRequest): ReleaseAnswer {
    return this.table.release(request);
  }

  renew(request: RenewRequest): Renewed {
    return this.table.renew(request);
  }

  live(key: string): ReadonlyMap<string, number> {
    return this.table.permits(key);
  }

  queued(key: string): readonly string[] {
    return this.table.permitsQueued(key);
  }

  /** The table has all data. */
  flush(): void {}

  keys(): string[] {
    return this.table.keys();
  }
}
