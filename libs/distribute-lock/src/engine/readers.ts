import { type Grant, type Holder, LIMIT_TOLERANCE_MS, type LockHold, restMs, type ReadersHold } from './lease/grant.js';
import { type Loss, lossByTime } from './lease/loss.js';

/** A holder of the lease that the readers of a process share. */
export interface Reader extends Holder {
  /** On the monotonic clock. */
  readonly startedAt: number;
  readonly ttlMs: number;
  /** Until when its own ttl lets it hold, after a confirmed command that was sent at `confirmedAt`. */
  ownValidUntil(confirmedAt: number): number;
  /** Ends the lease of this reader; other readers keep theirs. */
  endOwn(loss: Loss): void;
}

const needOf = ({ renew, ttlMs, leaseUntil }: Reader, now: number): number =>
  renew ? Math.min(ttlMs, leaseUntil - now) : leaseUntil - now;

/** The readers of one process, which share one lease. Each keeps its own options. */
export class Readers implements Holder, ReadersHold {
  shortenAt = Infinity;
  leftUntil = -Infinity;
  private readonly all = new Set<Reader>();

  static of(reader: Reader): Readers {
    const readers = new Readers();
    readers.add(reader);
    return readers;
  }

  get readers(): this {
    return this;
  }

  get size(): number {
    return this.all.size;
  }

  get renew(): boolean {
    for (const { renew } of this.all) if (renew) return true;
    return false;
  }

  get renewUntil(): number {
    return this.latest(({ renew, renewUntil }) => (renew ? renewUntil : -Infinity));
  }

  get leaseUntil(): number {
    return this.latest(({ leaseUntil }) => leaseUntil);
  }

  get keptUntil(): number {
    return Math.max(
      this.leftUntil,
      this.latest(({ keptUntil = -Infinity }) => keptUntil),
    );
  }

  get holds(): readonly LockHold[] {
    return [...this.all].flatMap(({ holds }) => holds);
  }

  get unreportedSince(): number {
    return -this.latest(({ unreportedSince }) => -unreportedSince);
  }

  reportLong(before: number): void {
    for (const reader of this.all) reader.reportLong(before);
  }

  renewing(): void {
    for (const reader of this.all) reader.renewing();
  }

  needMs(now: number): number {
    return Math.max(
      this.latest((reader) => needOf(reader, now)),
      this.leftUntil - now,
    );
  }

  /** Whether `needMs` is at least `ms`. Usually the first reader shows it, so the others are not visited. */
  needAtLeast(ms: number, now: number): boolean {
    for (const reader of this.all) if (needOf(reader, now) >= ms) return true;
    return this.leftUntil - now >= ms;
  }

  /** Each renewed reader needs a renewal when less than two thirds of its ttl are left, as any other holder. */
  renewalAt({ confirmedAt, endsAt, mostMs, toShorten, validUntil }: Grant): number {
    if (toShorten) return confirmedAt;
    let at = this.shortenAt;
    for (const { renew, leaseUntil, startedAt, ttlMs } of this.all) {
      const from = Math.max(confirmedAt, startedAt);
      // The lease may last longer than the ttl of this reader.
      if (!renew || Math.min(endsAt, from + ttlMs) > leaseUntil - LIMIT_TOLERANCE_MS) continue;
      const countsMs = Math.min(ttlMs, mostMs);
      at = Math.min(at, from + countsMs / 3, validUntil - restMs(countsMs));
    }
    return at;
  }

  validUntil({ confirmedAt }: Grant): number {
    return -this.latest((reader) => -reader.ownValidUntil(confirmedAt));
  }

  endOverdue(grant: Grant, now: number, earlyMs: number, why = lossByTime): void {
    const { confirmedAt } = grant;
    const lateMs = grant.lateMsAt(now);
    for (const reader of [...this.all]) {
      if (now < reader.ownValidUntil(confirmedAt) - earlyMs) continue;
      const { ttlMs, renew, startedAt, renewUntil } = reader;
      const reachedLimit = Math.max(confirmedAt, startedAt) + ttlMs > renewUntil - LIMIT_TOLERANCE_MS;
      reader.endOwn(why({ ttlMs, lateMs, renew, reachedLimit }));
    }
  }

  add(reader: Reader): void {
    this.all.add(reader);
  }

  remove(reader: Holder): void {
    this.all.delete(reader as Reader);
  }

  lose(loss: Loss): void {
    for (const reader of this.all) reader.lose(loss);
  }

  shutDown(): void {
    for (const reader of [...this.all]) reader.shutDown();
  }

  /** The largest figure of all readers; `-Infinity` without readers. */
  private latest(figure: (reader: Reader) => number): number {
    let largest = -Infinity;
    for (const reader of this.all) largest = Math.max(largest, figure(reader));
    return largest;
  }
}
