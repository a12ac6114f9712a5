import type {
  AcquireAllAnswer,
  AcquireAnswer,
  AcquireRequest,
  DowngradeRequest,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';
import { READERS } from '../lock-value.js';
import { CLAIM_WINDOW_MS, MOST_READERS_NOTIFIED } from '../protocol.js';
import { processOf } from '../../runtime/owner-token.js';
import { ReadWriteSteps } from './read-write-steps.js';
import { isReader } from './table-state.js';

/**
 * The protocol in memory. It runs the same steps in the same order as the scripts of the Redis store, so results of the
 * simulation apply to both. Back end of the memory store and model of the simulation.
 */
export class LockTable extends ReadWriteSteps {
  /** @param counted - whether fencing tokens may be incremented if the lock has no holder and no waiter */
  acquire(request: AcquireRequest, counted = false): AcquireAnswer {
    const { key, ownerToken, ttlMs, block, steal } = request;
    const owner = this.owner(key);
    if (steal === true) {
      this.set(key, ownerToken, ttlMs);
      this.leases.clear(key);
      return this.granted(key, block);
    }
    if (counted && owner === undefined && this.waiting(key) === 0) {
      this.set(key, ownerToken, ttlMs);
      this.leases.clear(key);
      return { outcome: 'granted', fencingToken: this.countUp(block), waiting: 0 };
    }
    if (owner === ownerToken) {
      this.raise(key, ttlMs);
      this.unqueue(key, ownerToken);
      return this.granted(key, block);
    }
    const reads = isReader(ownerToken);
    if (owner === undefined && this.removeSilent(key, ownerToken)) {
      if (!request.wait) return { outcome: 'busy', remainingMs: 0, foreign: false };
      return { outcome: 'queued', remainingMs: 0, foreign: false, stood: this.append(key, ownerToken) };
    }
    const entered = reads && this.join(key, ownerToken, ttlMs);
    if (entered || (owner === undefined && this.enterFree(request, reads))) return this.granted(key, block, reads);
    return this.waits(request, reads);
  }

  /** Acquires all locks or none; see `multi-key.lua`. */
  acquireAll(requests: readonly AcquireRequest[]): AcquireAllAnswer {
    for (const { key, ownerToken } of requests) {
      const owner = this.owner(key);
      const isFree = owner === ownerToken || (owner === undefined && this.waiting(key) === 0);
      if (!isFree) return { outcome: 'busy', remainingMs: this.leftMs(key) };
    }
    for (const { key, ownerToken, ttlMs } of requests) {
      if (this.owner(key) === undefined || this.leftMs(key) < ttlMs) this.set(key, ownerToken, ttlMs);
    }
    const first = this.fencingTokens(requests.length);
    return { outcome: 'granted', fencingTokens: requests.map((_, i) => first + i) };
  }

  /** Releases the lock, removes the token from the queue, or undoes an attempt. */
  release(request: ReleaseRequest): ReleaseAnswer {
    const { key, ownerToken, next, grantOwn } = request;
    const reads = isReader(ownerToken);
    const waited = this.unqueue(key, ownerToken);
    if (!(reads ? this.reads(key, ownerToken) : this.owner(key) === ownerToken)) {
      if (waited && !reads && this.owner(key) === READERS) this.writerLeft(key);
      const taken = !reads && this.owner(key) !== undefined;
      return { outcome: 'lost', resent: false, ...(taken ? { taken } : {}) };
    }
    if (reads) {
      this.leases.end(key, ownerToken);
      if (this.readers(key).length > 0) return this.leaveOthers(request);
    }
    if (next !== undefined) this.append(key, next.ownerToken);
    const taker = this.hand(key, reads ? 'readers' : 'writer', {
      reads,
      token: next?.ownerToken,
      process: grantOwn === undefined || next !== undefined ? undefined : processOf(ownerToken),
      ttlMs: (next ?? grantOwn)?.ttlMs ?? 0,
    });
    if (taker?.mine !== undefined) return this.grantedNext(request, taker.mine);
    if (taker === undefined) return { outcome: 'free' };
    if (next === undefined) return { outcome: 'passed' };
    return { outcome: 'queued', remainingMs: Math.min(this.leftMs(key), CLAIM_WINDOW_MS) };
  }

  renew({ key, ownerToken, ttlMs, exact }: RenewRequest): Exclude<RenewAnswer, Error> {
    if (isReader(ownerToken)) {
      if (!this.reads(key, ownerToken)) return 'lost';
      if (exact === true) this.leases.lend(key, ownerToken, ttlMs, true);
      return this.keepReading(key, ownerToken, ttlMs);
    }
    if (this.owner(key) !== ownerToken) return this.owner(key) === undefined ? 'lost' : 'taken';
    if (exact === true) this.set(key, ownerToken, ttlMs);
    else this.raise(key, ttlMs);
    return this.waiting(key);
  }

  /** Converts a write lock into a read lock and admits the waiting readers. The lease never becomes shorter. */
  downgrade({ key, ownerToken, readToken, ttlMs }: DowngradeRequest): Exclude<RenewAnswer, Error> {
    if (this.reads(key, readToken)) return this.keepReading(key, readToken, ttlMs);
    this.unqueue(key, readToken);
    if (this.owner(key) !== ownerToken) return this.owner(key) === undefined ? 'lost' : 'taken';
    this.beginReading(key, readToken, Math.max(ttlMs, this.leftMs(key)));
    return this.writerWaits(key);
  }

  /** Remaining lease of this token; undefined when it does not hold the lock. */
  leaseLeftMs(key: string, ownerToken: string): number | undefined {
    const now = this.host.now();
    const lease = this.readers(key).find((reader) => reader.ownerToken === ownerToken);
    if (lease !== undefined) return lease.endsAt - now;
    return this.owner(key) === ownerToken ? this.locks.get(key)!.endsAt - now : undefined;
  }

  protected granted(key: string, block: number, reads = false) {
    const waiting = reads ? this.writerWaits(key) : this.waiting(key);
    return { outcome: 'granted', fencingToken: this.fencingTokens(block), waiting } as const;
  }

  /** Assigns a free lock to a waiter or to the caller. Returns true if the caller gets it. */
  private enterFree({ key, ownerToken, ttlMs }: AcquireRequest, reads: boolean): boolean {
    const taker = this.hand(key, 'unknown', { reads, token: ownerToken, ttlMs });
    if (taker !== undefined) return taker.mine !== undefined;
    if (reads) return this.beginReading(key, ownerToken, ttlMs);
    this.set(key, ownerToken, ttlMs);
    this.leases.clear(key);
    return true;
  }

  private waits({ key, ownerToken, wait }: AcquireRequest, reads: boolean): AcquireAnswer {
    const owner = this.owner(key)!;
    const ours = processOf(owner) !== undefined;
    const foreign = !ours && owner !== READERS;
    if (!wait) return { outcome: 'busy', remainingMs: this.leftMs(key), foreign };
    const stood = this.append(key, ownerToken);
    if (ours) this.notify(owner, 'contended', key);
    if (owner === READERS && !reads) {
      const wasOpen = this.leases.closeGate(key);
      // A later writer needs no message; a repeated attempt replaces messages that were lost.
      const notified = wasOpen || stood ? this.readers(key).slice(0, MOST_READERS_NOTIFIED) : [];
      for (const reader of notified) this.notify(reader.ownerToken, 'contended', key);
    }
    const remainingMs = reads ? this.untilOpenMs(key) : this.leftMs(key);
    if (!ours || processOf(owner) !== processOf(ownerToken)) return { outcome: 'queued', remainingMs, foreign, stood };
    return { outcome: 'queued', remainingMs, foreign, stood, ownToken: owner };
  }

  /** Releases one of several readers; its next attempt joins the others unless a writer waits. */
  private leaveOthers(request: ReleaseRequest): ReleaseAnswer {
    const { key, next } = request;
    this.settle(key);
    if (next === undefined) return { outcome: 'passed' };
    if (this.join(key, next.ownerToken, next.ttlMs)) return this.grantedNext(request, next.ownerToken);
    this.append(key, next.ownerToken);
    return { outcome: 'queued', remainingMs: this.untilOpenMs(key) };
  }

  private grantedNext({ key, next, grantOwn }: ReleaseRequest, ownerToken: string): ReleaseAnswer {
    return { ...this.granted(key, (next ?? grantOwn)!.block, isReader(ownerToken)), ownerToken };
  }

  /** Opens the gate and admits waiting readers when the last waiting writer leaves. */
  private writerLeft(key: string): void {
    if (this.queued(key).some((token) => !isReader(token))) return;
    this.leases.openGate(key);
    if (this.readers(key).length > 0) this.letIn(key);
  }

  private keepReading(key: string, ownerToken: string, ttlMs: number): number {
    this.join(key, ownerToken, ttlMs);
    return this.writerWaits(key);
  }

  /** 1 if a writer waits, else 0; reported to readers. */
  private writerWaits(key: string): number {
    return this.gateLeftMs(key) > 0 ? 1 : 0;
  }

  /** Milliseconds until the leases or the gate end. */
  private untilOpenMs(key: string): number {
    const gateMs = this.gateLeftMs(key);
    return gateMs > 0 ? Math.min(this.leftMs(key), gateMs) : this.leftMs(key);
  }
}
