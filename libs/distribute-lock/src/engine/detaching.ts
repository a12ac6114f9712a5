import { isLockError } from '../errors.js';
import type { Grant } from './lease/grant.js';
import { type LeaseHandle, notDetachable } from './lease/lease-handle.js';
import type { LeaseTickets, LockKind, RenewAnswer } from '../store/lock-store.js';
import type { EngineContext } from './context.js';
import { noTickets, tooManyKept, unavailable } from './refusals.js';
import { Replacement } from './replacement.js';
import { reportReleased } from './reports.js';
import { type DetachedLease, newTicket, tokenOf } from './ticket.js';

/** The record of a ticket lasts this much longer than its lease: a process that uses the ticket too late learns that it expired. */
export const RECORD_EXTRA_MS = 5_000;

/** What detaching needs of the engine. */
export interface DetachingSettings {
  /** The name of the module's connection. */
  readonly connection: string;
  /** The grant has ended, and its token needs no undo. */
  readonly grantEnded: (grant: Grant) => void;
}

/** Detaches leases from this process: their keys stay locked, and a ticket continues them. See `Lease.detach`. */
export class Detaching {
  constructor(
    private readonly context: EngineContext,
    private readonly settings: DetachingSettings,
  ) {}

  /**
   * @param leases - held leases of one call, one for each key
   * @returns the ticket
   */
  async detach(leases: readonly LeaseHandle[], ttlMs: number): Promise<string> {
    const { kept, store, clock } = this.context;
    const { tickets } = store;
    const [{ call }] = leases;
    if (tickets === undefined) throw noTickets('detach()');
    for (const lease of leases) {
      const restMs = Math.floor(lease.renewUntil - clock.now());
      if (ttlMs > restMs)
        throw notDetachable(call, `"ttl" is ${ttlMs} ms, but "maxHold" leaves ${Math.max(0, restMs)} ms`);
    }
    if (kept.isFullFor(leases.map((lease) => lease.call))) throw tooManyKept(call, kept.most);
    const { text, id } = newTicket({ scope: tickets.scope, connection: this.settings.connection });
    kept.addDetached(id, ttlMs);
    try {
      const lease = detachedLeaseOf(leases, ttlMs);
      // The record comes first, so that no lease is detached without a ticket.
      await tickets.keep(id, JSON.stringify(lease), lease.recordMs).catch((error: Error) => {
        throw unavailable(call, error, 'detached');
      });
      const tokens = leases.map((_, i) => tokenOf(id, lease, i));
      await this.moveAll(tickets, leases, tokens, ttlMs);
    } catch (error) {
      kept.dropDetached(id);
      throw error;
    }
    return text;
  }

  /** Detaches all leases or none: when one fails, the others end and are released. */
  private async moveAll(
    tickets: LeaseTickets,
    leases: readonly LeaseHandle[],
    tokens: readonly string[],
    ttlMs: number,
  ): Promise<void> {
    const { grantEnded } = this.settings;
    const detachments = leases.map(
      (lease, i) => new Detachment(this.context, lease, tokens[i], tickets, ttlMs, grantEnded),
    );
    const results = await Promise.allSettled(detachments.map(async (each) => each.lease.detachBy(() => each.run())));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined) return detachments.forEach((each) => each.report());
    const moved = detachments.filter((_, i) => results[i].status === 'fulfilled');
    for (const each of moved) each.undo();
    const isLost = isLockError(failed.reason, 'LEASE_LOST');
    throw isLost || moved.length === 0 ? failed.reason : moved[0].lease.signal.reason;
  }
}

/** What the record says about the lease of these keys. */
function detachedLeaseOf(leases: readonly LeaseHandle[], ttlMs: number): DetachedLease {
  const [{ call, heldMs }] = leases;
  const { heldBeforeMs = 0 } = call;
  const { kind, permits, weight } = call.options;
  // The command that detaches the lease may be repeated until the present lease ends.
  const laterMs = Math.min(ttlMs, Math.max(...leases.map(({ grant }) => grant.ttlMs)));
  return {
    kind: kind as Exclude<LockKind, 'read'>,
    keys: leases.map(({ key }) => key),
    permits,
    weight,
    fencingToken: Math.max(...leases.map(({ fencingToken }) => fencingToken)),
    heldMs: Math.round(heldBeforeMs + heldMs),
    ttlMs,
    recordMs: ttlMs + laterMs + RECORD_EXTRA_MS,
  };
}

/** Moves one lease to the token of its ticket. */
class Detachment extends Replacement {
  /** The times of the grant before a command that may have shortened its lease. */
  private before: Pick<Grant, 'ttlMs' | 'validUntil' | 'endsAt' | 'mostMs' | 'toShorten'> | undefined;

  constructor(
    context: EngineContext,
    override readonly lease: LeaseHandle,
    to: string,
    private readonly tickets: LeaseTickets,
    private readonly ttlMs: number,
    private readonly ended: (grant: Grant) => void,
  ) {
    super(context, lease, to, 'detachment');
  }

  /** A slow store leaves less of `maxHold`. */
  protected get wantedMs(): number {
    const restMs = this.lease.renewUntil - this.context.clock.now();
    return Math.max(1, Math.min(this.ttlMs, Math.floor(restMs)));
  }

  protected async send(ttlMs: number): Promise<RenewAnswer> {
    const { key, ownerToken, kind } = this.grant;
    this.shorten(ttlMs);
    try {
      const answer = await this.tickets.move({ key, ownerToken, kind, to: this.to, ttlMs });
      if (answer.outcome === 'granted') return answer.waiting;
      return answer.taken ? 'taken' : 'lost';
    } catch (error) {
      return error as Error;
    }
  }

  protected failure(error: Error): Error {
    return unavailable(this.lease.call, error, 'detached');
  }

  protected notReplaced(sent: boolean): void {
    if (sent) this.abandon();
    else if (this.before !== undefined) Object.assign(this.grant, this.before);
  }

  /** The command may shorten the lease, and its reply may be lost, so the process relies on no longer lease from now on. */
  private shorten(ttlMs: number): void {
    const { grant, context } = this;
    const now = context.clock.now();
    if (now + ttlMs >= grant.endsAt) return;
    const { ttlMs: ttl, validUntil, endsAt, mostMs, toShorten } = grant;
    this.before ??= { ttlMs: ttl, validUntil, endsAt, mostMs, toShorten };
    grant.shorten(now, ttlMs);
    context.watchdog.watch(grant);
  }

  protected replaced(): void {
    const { grant, lease, context } = this;
    context.watchdog.unwatch(grant);
    grant.ended = true;
    // The token of the process has no release, so its final undo starts here.
    context.abandoned.released(grant, grant.ttlMs);
    context.kept.drop(lease.call);
    if (lease.lost) this.abandon();
    lease.detached();
    this.ended(grant);
  }

  /** All keys of the lease are detached. */
  report(): void {
    reportReleased(this.context.events, this.lease.call, this.lease.heldMs, true);
  }

  /** Another key of the lease could not be detached, so this one is released. */
  undo(): void {
    this.abandon();
    this.lease.lose({ reason: 'released', why: 'another of its keys could not be detached' });
  }

  private abandon(): void {
    const name = { key: this.grant.key, ownerToken: this.to };
    this.context.abandoned.abandon(name, this.longestMs, { finalAt: this.finalUndoAt });
  }
}
