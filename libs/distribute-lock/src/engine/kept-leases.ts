import type { LockHold } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import { planOf } from './lease/lifetime-plan.js';
import type { LockCall } from './lease/lock-call.js';
import type { Reader } from './readers.js';
import { Alarm, Timer, type Timers } from '../runtime/timers.js';

/**
 * Leases that outlast their work (`minHold`, `release: 'expire'`, `detach()`). Such a call counts from its start until its key is free
 * for certain, so concurrent calls cannot keep more than `most` leases.
 */
export class KeptLeases {
  private readonly calls = new Set<LockCall>();
  /** Leases that this process has detached, by the hash of their ticket; until their end, or until this process uses the ticket. */
  private readonly detached = new Map<string, Alarm>();

  constructor(
    readonly most: number,
    private readonly timers: Timers,
  ) {}

  /** Whether a further lease would exceed the limit. The leases of the calls are about to be detached, or new. */
  isFullFor(calls: readonly LockCall[]): boolean {
    const own = calls.filter((call) => this.calls.has(call)).length;
    return this.calls.size + this.detached.size - own >= this.most;
  }

  /** The key stays locked for `ttlMs`. */
  addDetached(ticketHash: string, ttlMs: number): void {
    const end = new Alarm(() => this.dropDetached(ticketHash));
    this.detached.set(ticketHash, end);
    this.timers.add(end, ttlMs);
  }

  dropDetached(ticketHash: string): void {
    const end = this.detached.get(ticketHash);
    if (end !== undefined) this.timers.remove(end);
    this.detached.delete(ticketHash);
  }

  add(call: LockCall): void {
    if (isKept(call)) this.calls.add(call);
  }

  /** The call ended without a lease, or its lease is no longer kept. */
  drop(call: LockCall): void {
    if (this.calls.size > 0) this.calls.delete(call);
  }
}

export const isKept = ({ options }: LockCall): boolean => planOf(options).keepForMs > 0;

/** Whether the ttl alone keeps the key as planned. Not for readers, whose shared grant another reader may release. */
export const endsByItself = ({ plan, grant, kind, startedAt }: LeaseHandle): boolean =>
  plan.atEnd === 'expire' && kind !== 'read' && startedAt + plan.minHoldMs <= grant.endsAt;

/** Holds the grant of a lease whose work has ended, until it may be released. It is always renewed until then. */
export class KeptHold extends Timer implements Reader {
  readonly renew = true;
  readonly leaseUntil = Infinity;
  /** The work has ended, so the hold is not reported as long. */
  readonly unreportedSince = Infinity;

  constructor(
    readonly lease: LeaseHandle,
    readonly renewUntil: number,
    private readonly over: (held: KeptHold) => void,
  ) {
    super();
  }

  get keptUntil(): number {
    return this.renewUntil;
  }

  get startedAt(): number {
    return this.lease.startedAt;
  }

  get ttlMs(): number {
    return this.lease.ttlMs;
  }

  ownValidUntil(): number {
    return Infinity;
  }

  endOwn(): void {
    // No work depends on it.
  }

  get holds(): readonly LockHold[] {
    return this.lease.holds;
  }

  reportLong(): void {
    // The key is kept on purpose.
  }

  renewing(): void {
    // The application has released it.
  }

  lose(): void {
    // No work depends on the lease; the next caller asks the store again.
  }

  shutDown(): void {
    // The key was left to its ttl when the drain began.
  }

  due(): void {
    this.over(this);
  }
}
