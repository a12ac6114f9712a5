import { permitsOfToken, processOf, weightOf } from '../../runtime/owner-token.js';
import type { LockTable } from './lock-table.js';
import { permitsOf, semaphoreValue } from '../lock-value.js';
import { CLAIM_WINDOW_MS, MOST_PLACES_SEARCHED } from '../protocol.js';
import { Sweep } from './table-state.js';
import { TokenQueues } from './token-queues.js';

/**
 * Holders of permits and the ends of their leases, including offers. The lock key holds the number of permits of the latest
 * grant and excludes other kinds. Without the lock key no lease is valid.
 */
export class SemaphoreLeases {
  private readonly leases = new Map<string, Map<string, number>>();
  private readonly sweep = new Sweep();

  constructor(
    private readonly locks: LockTable,
    /** Whole milliseconds. */
    private readonly now: () => number,
  ) {}

  /** The number of permits at the key; `undefined` when the key is free or holds another kind of lock. */
  limit(key: string): number | undefined {
    return permitsOf(this.locks.owner(key));
  }

  /** The value of a foreign client may look like that of a semaphore, but the leases end with the key. */
  isOther(key: string): boolean {
    return this.locks.owner(key) !== undefined && this.live(key).size === 0;
  }

  /** Ends of the valid leases by owner token. */
  live(key: string): ReadonlyMap<string, number> {
    if (this.limit(key) === undefined) return new Map();
    return new Map([...(this.leases.get(key) ?? [])].filter(([, endsAt]) => endsAt > this.now()));
  }

  /** Permits in use: the sum of the weights. A counter could drift. */
  used(key: string): number {
    return [...this.live(key).keys()].reduce((sum, ownerToken) => sum + weightOf(ownerToken), 0);
  }

  give(key: string, ownerToken: string, endsAt: number): void {
    const leases = new Map(this.live(key)).set(ownerToken, endsAt);
    this.leases.set(key, leases);
    this.locks.put(key, semaphoreValue(permitsOfToken(ownerToken)), Math.max(...leases.values()));
    this.sweep.of(this.leases, (each) => this.limit(each) === undefined);
  }

  takeBack(key: string, ownerToken: string): void {
    this.leases.get(key)?.delete(ownerToken);
  }

  /** Extends a lease; shortens it only if `exact`. */
  raise(key: string, ownerToken: string, endsAt: number, exact = false): void {
    const leases = this.leases.get(key);
    const present = leases?.get(ownerToken);
    if (leases === undefined || present === undefined || (present >= endsAt && !exact)) return;
    leases.set(ownerToken, endsAt);
    this.locks.put(key, this.locks.owner(key)!, Math.max(...this.live(key).values()));
  }

  /** Removes expired leases; the key ends with the last lease. */
  settle(key: string): void {
    const limit = this.limit(key);
    if (limit === undefined) return;
    const live = new Map(this.live(key));
    if (live.size === 0) {
      this.leases.delete(key);
      this.locks.overwrite(key, undefined);
    } else {
      this.leases.set(key, live);
      this.locks.put(key, semaphoreValue(limit), Math.max(...live.values()));
    }
  }

  clear(): void {
    this.leases.clear();
  }
}

/**
 * Waiters for permits, in order. The places of a process count until it has sent no attempt for a claim window; one attempt counts
 * for all of them.
 */
export class SemaphorePlaces {
  private readonly queues: TokenQueues;
  /** By key and process. */
  private readonly countUntil = new Map<string, Map<string, number>>();

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
    this.extend(key, ownerToken);
    return stood;
  }

  /** Extends the time for which the places of the token's process count. */
  extend(key: string, ownerToken: string): void {
    if (!this.countUntil.has(key)) this.countUntil.set(key, new Map());
    this.countUntil.get(key)!.set(processOf(ownerToken)!, this.now() + CLAIM_WINDOW_MS);
  }

  leave(key: string, ownerToken: string): void {
    if (this.queues.remove(key, ownerToken) && this.of(key).length === 0) this.countUntil.delete(key);
  }

  /** Time until which the place of the token counts. */
  endOf(key: string, ownerToken: string): number {
    return this.countUntil.get(key)?.get(processOf(ownerToken)!) ?? 0;
  }

  /** 1 when another process waits, else 0. Places of the own process are no contention. */
  others(key: string, ownerToken: string): number {
    const own = processOf(ownerToken);
    const first = this.of(key).slice(0, MOST_PLACES_SEARCHED + 1);
    return first.some((waiting) => processOf(waiting) !== own) ? 1 : 0;
  }

  clear(): void {
    this.queues.clear();
    this.countUntil.clear();
  }
}
