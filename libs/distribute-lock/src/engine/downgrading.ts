import { Grant } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import type { RenewAnswer } from '../store/lock-store.js';
import type { EngineContext } from './context.js';
import type { ExclusiveState } from './exclusive.js';
import { noReaders, unavailable } from './refusals.js';
import { Replacement } from './replacement.js';
import type { ReadState } from './read.js';

/** The states of the key for writers and for readers. */
interface DowngradedKey {
  readonly writing: ExclusiveState;
  readonly reading: ReadState;
}

/** See `Lease.downgrade`. */
export function downgradeLease(context: EngineContext, key: DowngradedKey, lease: LeaseHandle): Promise<void> {
  if (context.store.downgrade === undefined) {
    context.changed(key.reading);
    return Promise.reject(noReaders(lease.call));
  }
  return new Downgrade(context, key, lease).run();
}

/** Turns a write grant into a read grant. */
class Downgrade extends Replacement {
  constructor(
    context: EngineContext,
    private readonly states: DowngradedKey,
    lease: LeaseHandle,
  ) {
    super(context, lease, context.tokens.next(states.reading.suffix()), 'downgrade');
    // Messages about the token may arrive before the answer that grants it.
    states.reading.releaseStarts(this.to);
  }

  protected send(ttlMs: number): Promise<RenewAnswer> {
    const { key, ownerToken } = this.grant;
    const request = { key, ownerToken, kind: 'write', readToken: this.to, ttlMs } as const;
    return this.context.store.downgrade!(request).catch((error: Error) => error);
  }

  /** The ttl of the read lease, which readers that wait here will share. */
  protected get wantedMs(): number {
    const { reading } = this.states;
    return reading.waiting === 0 ? this.grant.ttlMs : Math.max(this.grant.ttlMs, reading.ttlMsOf(reading.list));
  }

  protected failure(error: Error): Error {
    return unavailable(this.lease.call, error);
  }

  protected notReplaced(sent: boolean): void {
    this.states.reading.releaseEnds(this.to);
    if (sent) this.abandonReader();
    this.context.changed(this.states.reading);
  }

  private abandonReader(): void {
    const name = { key: this.grant.key, ownerToken: this.to };
    this.context.abandoned.abandon(name, this.longestMs, { finalAt: this.finalUndoAt });
  }

  protected replaced(waiting: number, sentAt: number, ttlMs: number): void {
    const { reading, writing } = this.states;
    const { watchdog, abandoned } = this.context;
    const { grant, lease, to } = this;
    const readGrant = this.readGrant(waiting, sentAt, ttlMs);
    watchdog.unwatch(grant);
    grant.ended = true;
    writing.drop(grant);
    // The writer's token has no release, so its final undo starts here.
    abandoned.released(grant, grant.ttlMs);
    // The store may have admitted readers of this process before this answer. Readers that asked before the writer have a lease that
    // ended when the writer got the lock. A command that was sent later was executed behind the writer.
    if (reading.grant !== undefined && reading.grant.startedAt <= grant.startedAt)
      watchdog.lose(reading.grant, { reason: 'deleted' });
    if (reading.isContendedEarly(to)) readGrant.contended = true;
    reading.releaseEnds(to);
    const isFirst = reading.grant === undefined;
    if (isFirst) {
      abandoned.granted(to, this.finalUndoAt);
      reading.open(readGrant, lease.fencingToken);
    } else this.abandonReader(); // the readers share one grant
    reading.join(lease);
    if (isFirst) reading.admitAll();
    writing.grantEnded();
    this.context.changed(writing);
  }

  /** The read lease is at least as long as the writer's lease was, and keeps its fencing token. */
  private readGrant(waiting: number, sentAt: number, ttlMs: number): Grant {
    const { key, validUntil, toShorten } = this.grant;
    const { watchdog } = this.context;
    const made = new Grant(watchdog.check, key, this.to, ttlMs, sentAt, this.lease.fencingToken, 1, waiting);
    made.validUntil = Math.max(made.validUntil, validUntil);
    // A command that is not confirmed may have lengthened the lease: an extension of the writer, or an earlier downgrade.
    made.toShorten = toShorten || ttlMs < this.longestMs;
    return made;
  }
}
