import { permitsOfToken, processOf, weightOf } from '../../runtime/owner-token.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  LockMessage,
  ReleaseAnswer,
  ReleaseRequest,
  RenewRequest,
} from '../lock-store.js';
import { CLAIM_WINDOW_MS, MOST_HOLDERS_NOTIFIED, MOST_PERMIT_OFFERS, SHORT_OFFER_MS } from '../protocol.js';
import type { LockTable } from './lock-table.js';
import { publishTo, wakeFirst, type TableHost } from './table-state.js';
import { SemaphoreLeases, SemaphorePlaces } from './semaphore-state.js';

/** The token of the caller and the duration of its lease. */
type Requester = Pick<RenewRequest, 'ownerToken' | 'ttlMs'>;

/**
 * Semaphores in memory, with the same steps in the same order as `semaphore.lua`. Shares the keys with the lock table.
 */
export class SemaphoreTable {
  private readonly leases: SemaphoreLeases;
  private readonly places: SemaphorePlaces;

  constructor(
    private readonly host: TableHost,
    private readonly locks: LockTable,
  ) {
    this.leases = new SemaphoreLeases(locks, () => this.now());
    this.places = new SemaphorePlaces(() => this.now());
  }

  acquire({ key, ownerToken, ttlMs, wait, block }: AcquireRequest): AcquireAnswer {
    if (this.leases.isOther(key)) return this.waitForKey(key, ownerToken, wait);
    if (this.leases.live(key).has(ownerToken)) {
      this.places.leave(key, ownerToken);
      this.leases.raise(key, ownerToken, this.now() + ttlMs);
      this.serve(key);
      return this.granted(key, ownerToken, block);
    }
    if (this.queued(key).includes(ownerToken)) this.places.extend(key, ownerToken);
    if (this.serve(key, { ownerToken, ttlMs })) return this.granted(key, ownerToken, block);
    const place = wait ? this.enqueue(key, ownerToken) : undefined;
    this.leases.settle(key);
    const refusal = { remainingMs: this.leftMs(key, ownerToken), foreign: false };
    return place === undefined ? { outcome: 'busy', ...refusal } : { outcome: 'queued', ...refusal, ...place };
  }

  release({ key, ownerToken, next }: ReleaseRequest): ReleaseAnswer {
    this.places.leave(key, ownerToken);
    if (this.leases.live(key).size === 0) return { outcome: 'lost', resent: false };
    const found = this.leases.live(key).has(ownerToken);
    this.leases.takeBack(key, ownerToken);
    if (!found || next === undefined) {
      this.serve(key);
      this.leases.settle(key);
      return found ? { outcome: 'free' } : { outcome: 'lost', resent: false };
    }
    // `next` may have an offer of which its process does not know.
    const isOffered = this.leases.live(key).has(next.ownerToken);
    if (isOffered) this.leases.raise(key, next.ownerToken, this.now() + next.ttlMs);
    else this.enqueue(key, next.ownerToken);
    if (this.serve(key, isOffered ? undefined : next) || isOffered) {
      return { ...this.granted(key, next.ownerToken, next.block), ownerToken: next.ownerToken };
    }
    this.leases.settle(key);
    return { outcome: 'queued', remainingMs: this.leftMs(key, next.ownerToken) };
  }

  renew({ key, ownerToken, ttlMs, exact }: RenewRequest): number | 'lost' {
    if (!this.leases.live(key).has(ownerToken)) return 'lost';
    this.leases.raise(key, ownerToken, this.now() + ttlMs, exact);
    return this.places.others(key, ownerToken);
  }

  queued(key: string): readonly string[] {
    return this.places.of(key);
  }

  /** Ends of the valid leases by owner token, in the time of `host`. */
  live(key: string): ReadonlyMap<string, number> {
    return this.leases.live(key);
  }

  /** Removes all state, as FLUSHALL does on a server. */
  flush(): void {
    this.leases.clear();
    this.places.clear();
  }

  /** Keys with waiters. */
  keys(): string[] {
    return this.places.keys();
  }

  /** Whole milliseconds, as in the scripts. */
  private now(): number {
    return Math.floor(this.host.now());
  }

  /** A lock of another kind has the key. No message announces that the key is free. */
  private waitForKey(key: string, ownerToken: string, wait: boolean): AcquireAnswer {
    const remainingMs = this.locks.leftMs(key);
    if (!wait) return { outcome: 'busy', remainingMs, foreign: true };
    this.enqueue(key, ownerToken);
    return { outcome: 'queued', remainingMs, foreign: true, adjacent: false };
  }

  /**
   * The only place where permits are granted. They go to the heads of the queue while they fit. The token `self` comes
   * last if it is not queued. A head that does not fit blocks the tokens behind it. Each token fits within the number of
   * permits that it carries, so no more than the largest of them are in use. Returns whether `self` was served.
   */
  private serve(key: string, self?: Requester): boolean {
    const reached = new Map<string | undefined, boolean>();
    const served = this.assign(key, reached, self);
    if ([...reached.values()].includes(false))
      wakeFirst(this.queued(key), (token) => this.notify(token, 'granted', key));
    return served;
  }

  private assign(key: string, reached: Map<string | undefined, boolean>, self?: Requester): boolean {
    let served = false;
    for (let offers = 0; offers < MOST_PERMIT_OFFERS;) {
      const head = this.queued(key)[0] ?? (served ? undefined : self?.ownerToken);
      if (head === undefined) return served;
      if (weightOf(head) > permitsOfToken(head) - this.leases.used(key)) {
        if (this.stops(key, head, self)) return served;
        this.places.leave(key, head);
      } else if (head === self?.ownerToken) {
        this.give(key, head, self.ttlMs);
        served = true;
      } else {
        this.offer(key, head, reached);
        offers += 1;
      }
    }
    return served;
  }

  /** Whether the head blocks the queue. It does not if its process does not respond. */
  private stops(key: string, head: string, self: Requester | undefined): boolean {
    return head === self?.ownerToken || this.places.endOf(key, head) > this.now();
  }

  /** Offers permits: a lease for the claim window, or a short one for a process that the message does not reach. */
  private offer(key: string, head: string, reached: Map<string | undefined, boolean>): void {
    const process = processOf(head);
    if (reached.get(process) !== false) reached.set(process, this.notify(head, 'granted', key));
    this.give(key, head, reached.get(process) === true ? CLAIM_WINDOW_MS : SHORT_OFFER_MS);
  }

  private give(key: string, ownerToken: string, ttlMs: number): void {
    this.leases.give(key, ownerToken, this.now() + ttlMs);
    this.places.leave(key, ownerToken);
  }

  private granted(key: string, ownerToken: string, block: number) {
    this.leases.settle(key);
    const fencingToken = this.locks.fencingTokens(block);
    return { outcome: 'granted', fencingToken, waiting: this.places.others(key, ownerToken) } as const;
  }

  /** Milliseconds until permits may become free without a message: the first lease or the place of the head ends. */
  private leftMs(key: string, ownerToken: string): number {
    const ends = [...this.leases.live(key).values()];
    const head = this.queued(key)[0];
    if (head !== undefined && head !== ownerToken) ends.push(this.places.endOf(key, head));
    return ends.length === 0 ? -1 : Math.max(Math.min(...ends) - this.now(), 0);
  }

  /**
   * Queues the token. Notifies the holders if the token is the head of the queue; otherwise notifies the process in
   * front of it. Returns whether it was queued before, and whether it is new and not directly behind another process.
   */
  private enqueue(key: string, ownerToken: string): { readonly stood: boolean; readonly adjacent: boolean } {
    const last = this.queued(key).at(-1);
    const stood = this.places.enqueue(key, ownerToken);
    const adjacent = last === undefined || processOf(last) === processOf(ownerToken);
    if (this.queued(key)[0] === ownerToken) this.notifyHolders(key, ownerToken);
    else if (!stood && !adjacent) this.notify(last, 'contended', key);
    return { stood, adjacent: !stood && adjacent };
  }

  private notifyHolders(key: string, ownerToken: string): void {
    const notified = new Set([processOf(ownerToken)]);
    for (const holder of this.leases.live(key).keys()) {
      if (notified.size > MOST_HOLDERS_NOTIFIED || notified.has(processOf(holder))) continue;
      notified.add(processOf(holder));
      this.notify(holder, 'contended', key);
    }
  }

  private notify(ownerToken: string, type: LockMessage['type'], key: string): boolean {
    return publishTo(this.host, key, ownerToken, type);
  }
}
