import { READERS } from '../../libs/distribute-lock/src/store/lock-value.js';
import { MemoryLocks, type MemoryHost } from '../../libs/distribute-lock/src/store/memory/memory-locks.js';
import type { MemoryServer } from '../../libs/distribute-lock/src/store/memory/memory-server.js';
import { MemoryState } from '../support/memory-state.js';

/** Locks in memory by the rules of `store/protocol`, or by these rules with a planted change. */
export type LocksByRules = typeof MemoryLocks;

/** The locks of a simulated server, and what its watches read. */
export class SimulatedLocks extends MemoryState {
  /** Executes the commands. */
  byRules: MemoryLocks;

  /** @param counted - whether the number of receivers of a message is known */
  constructor(
    private readonly host: MemoryHost,
    private readonly counted: boolean,
    private readonly Locks: LocksByRules = MemoryLocks,
  ) {
    super();
    this.byRules = this.newLocks();
  }

  /** Whether no lease of the key is valid. In its last millisecond the key of readers or a semaphore has no valid lease. */
  isFree(key: string): boolean {
    const owner = this.owner(key);
    return owner === undefined || (isShared(owner) && this.leftMs(key) === 0);
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

  /** Removes all state, including fencing tokens, as FLUSHALL does. */
  flush(): void {
    this.byRules = this.newLocks();
  }

  protected get server(): MemoryServer {
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
