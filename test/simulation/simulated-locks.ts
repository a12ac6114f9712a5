import { READERS } from '../../libs/distribute-lock/src/store/lock-value.js';
import { MemoryLocks, type MemoryHost } from '../../libs/distribute-lock/src/store/memory/memory-locks.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';

const NAMES = new RedisKeys('');
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

/** Locks in memory by the rules of `store/protocol`, or by these rules with a planted change. */
export type LocksByRules = typeof MemoryLocks;

/** The locks of a simulated server, and what its watches read. */
export class SimulatedLocks {
  /** Executes the commands. */
  byRules: MemoryLocks;
  private readonly names = new Map<string, HelperNames>();

  /** @param counted - whether the number of receivers of a message is known */
  constructor(
    private readonly host: MemoryHost,
    private readonly counted: boolean,
    private readonly Locks: LocksByRules = MemoryLocks,
  ) {
    this.byRules = this.newLocks();
  }

  /** The owner token at the key, or the value of a foreign client. */
  owner(key: string): string | undefined {
    const owner = this.server.call('GET', key);
    return owner === false ? undefined : owner;
  }

  /** Whether no lease of the key is valid. In its last millisecond the key of readers or a semaphore has no valid lease. */
  isFree(key: string): boolean {
    const owner = this.owner(key);
    return owner === undefined || (isShared(owner) && this.leftMs(key) === 0);
  }

  /** Remaining time of the key in whole milliseconds; -1 if it has no end. */
  leftMs(key: string): number {
    return this.server.call('PTTL', key);
  }

  queued(key: string): readonly string[] {
    return this.server.call('ZRANGE', this.namesOf(key).queue, 0, -1);
  }

  /** Ends of the valid leases of readers, by owner token. */
  readers(key: string): ReadonlyMap<string, number> {
    return this.owner(key) === READERS ? this.leases(this.namesOf(key).readers) : NO_LEASES;
  }

  /** Whether the gate stops new readers, because a writer waits. */
  isGateClosed(key: string): boolean {
    return this.server.call('EXISTS', this.namesOf(key).gate) === 1;
  }

  /** Remaining lease of this token in milliseconds; undefined when it does not hold the lock. */
  leaseLeftMs(key: string, ownerToken: string): number | undefined {
    const owner = this.owner(key);
    if (owner === ownerToken) return this.leftMs(key);
    if (owner === undefined || !isShared(owner)) return undefined;
    const { readers, permits } = this.namesOf(key);
    const score = this.server.call('ZSCORE', owner === READERS ? readers : permits, ownerToken);
    const leftMs = Number(score) - this.host.now();
    return leftMs > 0 ? leftMs : undefined;
  }

  /** Ends of the valid leases of permits, by owner token. */
  permits(key: string): ReadonlyMap<string, number> {
    return isSemaphore(this.owner(key)) ? this.leases(this.namesOf(key).permits) : NO_LEASES;
  }

  permitsQueued(key: string): readonly string[] {
    return this.server.call('ZRANGE', this.namesOf(key).permitsQueue, 0, -1);
  }

  /** Writes any value to the key, as a foreign client may; deletes the key when `owner` is undefined. */
  overwrite(key: string, owner: string | undefined, ttlMs?: number): void {
    if (owner === undefined) this.server.call('DEL', key);
    else if (ttlMs === undefined) this.server.call('SET', key, owner);
    else this.server.call('SET', key, owner, 'PX', Math.ceil(ttlMs));
  }

  /** Removes all state, including fencing tokens, as FLUSHALL does. */
  flush(): void {
    this.byRules = this.newLocks();
  }

  /** Keys of locks with a holder or a queue. */
  keys(): string[] {
    const names = this.server.dump().map(([name]) => QUEUE.exec(name)?.[1] ?? name);
    return [...new Set(names.filter((name) => !HELPER.test(name)))];
  }

  private namesOf(key: string): HelperNames {
    const names = this.names.get(key) ?? helperNamesOf(key);
    this.names.set(key, names);
    return names;
  }

  private get server(): MemoryLocks['server'] {
    return this.byRules.server;
  }

  private leases(name: string): ReadonlyMap<string, number> {
    const now = Math.floor(this.host.now());
    const flat = this.server.call('ZRANGE', name, `(${now}`, '+inf', 'BYSCORE', 'WITHSCORES');
    const leases = new Map<string, number>();
    for (let i = 0; i < flat.length; i += 2) leases.set(flat[i], Number(flat[i + 1]));
    return leases;
  }

  private newLocks(): MemoryLocks {
    return new this.Locks(this.host, { counted: this.counted, sharded: false });
  }
}

const isSemaphore = (owner: string | undefined): boolean => owner?.startsWith('semaphore:') === true;
const isShared = (owner: string): boolean => owner === READERS || isSemaphore(owner);

const NO_LEASES: ReadonlyMap<string, number> = new Map();
