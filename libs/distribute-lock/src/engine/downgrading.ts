import { Grant } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import type { Loss } from './lease/loss.js';
import { Retry } from '../runtime/retries.js';
import { finalUndoAt } from '../store/abandoned-tokens.js';
import { isLost, LockStoreError, lossOfAnswer, mayTakeEffect, type RenewAnswer } from '../store/lock-store.js';
import type { EngineContext } from './context.js';
import type { ExclusiveState } from './exclusive.js';
import { noReaders, unavailable } from './refusals.js';
import type { SharedState } from './shared.js';

/** The states of the key for writers and for readers. */
interface DowngradedKey {
  readonly writing: ExclusiveState;
  readonly reading: SharedState;
}

/** See `Lease.downgrade`. */
export function downgradeLease(context: EngineContext, key: DowngradedKey, lease: LeaseHandle): Promise<void> {
  if (context.store.downgrade === undefined) {
    context.changed(key.reading);
    return Promise.reject(noReaders(lease.call));
  }
  return new Downgrade(context, key, lease).run();
}

const UNPROVEN: Loss = {
  reason: 'outage',
  why: 'Redis rejected its downgrade, but may execute an earlier attempt that had no reply',
};
const CLOSED: Loss = {
  reason: 'shutdown',
  why: 'the application has shut down before Redis confirmed its downgrade',
};

/**
 * Turns a write grant into a read grant by one command that may be sent again. Until the answer arrives the grant is neither
 * renewed nor released, but the writer's lease can still end.
 */
class Downgrade extends Retry {
  private readonly grant: Grant;
  private readonly readToken: string;
  /** A command was sent, or may have been. */
  private sent = false;
  /** The longest ttl of a command. */
  private longestMs = 0;
  /** See `Attempt.finalUndoAt`. */
  private finalUndoAt = 0;
  private settle: { resolve: () => void; reject: (error: unknown) => void } | undefined;

  constructor(
    private readonly context: EngineContext,
    private readonly states: DowngradedKey,
    private readonly lease: LeaseHandle,
  ) {
    super();
    this.grant = lease.grant;
    this.readToken = context.tokens.next(states.reading.suffix());
  }

  run(): Promise<void> {
    this.lease.leaving = this.grant;
    // Messages about the token may arrive before the answer that grants it.
    this.states.reading.releaseStarts(this.readToken);
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      this.due();
    });
  }

  due(): void {
    const { store, clock } = this.context;
    const { key, ownerToken } = this.grant;
    const ttlMs = this.ttlMs();
    // A lease that was released, or whose `maxHold` has passed, is released without a downgrade.
    if (this.grant.ended || this.lease.ended) return this.lost();
    const sentAt = clock.now();
    this.longestMs = Math.max(this.longestMs, ttlMs);
    store.downgrade!({ key, ownerToken, kind: 'write', readToken: this.readToken, ttlMs }).then(
      (answer) => this.answered(answer, sentAt, ttlMs),
      (error: Error) => this.answered(error, sentAt, ttlMs),
    );
  }

  /** The ttl of the read lease, which readers that wait here will share. */
  private ttlMs(): number {
    const { reading } = this.states;
    return reading.waiting === 0 ? this.grant.ttlMs : Math.max(this.grant.ttlMs, reading.ttlMsOf(reading.list));
  }

  override forgotten(): void {
    const error = new LockStoreError('it was closed before it answered.', false);
    if (!this.sent) return this.refused(error);
    this.settle?.reject(unavailable(this.lease.call, error));
    this.unproven(CLOSED);
  }

  private answered(answer: RenewAnswer, sentAt: number, ttlMs: number): void {
    if (answer instanceof Error) return this.failed(answer);
    const { clock, watchdog } = this.context;
    this.sent = true;
    if (isLost(answer)) watchdog.lose(this.grant, lossOfAnswer(answer));
    else if (clock.now() >= this.grant.validUntil) watchdog.expire(this.grant);
    if (this.grant.ended || isLost(answer)) return this.lost();
    this.reads(this.readGrant(answer, sentAt, ttlMs));
  }

  private failed(error: Error): void {
    const { clock, timers } = this.context;
    const hasUnanswered = this.sent;
    if (mayTakeEffect(error)) {
      this.sent = true;
      this.finalUndoAt = finalUndoAt(clock.now());
    }
    if (error instanceof LockStoreError && error.passing) {
      timers.add(this, Math.min(this.nextDelayMs(), Math.max(0, this.grant.validUntil - clock.now())));
    } else if (hasUnanswered) this.unproven();
    else this.refused(error);
  }

  /** An earlier command has no answer, so the store may have replaced the write lock, or may still do so. */
  private unproven(loss = UNPROVEN): void {
    this.context.watchdog.lose(this.grant, loss);
    this.lost();
  }

  /** The server rejected the downgrade. The lease is unchanged, and its renewal may be overdue. */
  private refused(error: Error): void {
    this.lease.leaving = undefined;
    this.context.watchdog.watch(this.grant);
    this.undo();
    this.settle?.reject(unavailable(this.lease.call, error));
  }

  private lost(): void {
    this.undo();
    this.settle?.reject(
      this.lease.signal.reason ?? this.lease.lostError('it was released before it became a read lock', 'released'),
    );
  }

  private undo(): void {
    this.states.reading.releaseEnds(this.readToken);
    if (this.sent) this.abandonReader();
    this.context.changed(this.states.reading);
  }

  private abandonReader(): void {
    const name = { key: this.grant.key, ownerToken: this.readToken };
    this.context.abandoned.abandon(name, this.longestMs, { finalAt: this.finalUndoAt });
  }

  private reads(readGrant: Grant): void {
    const { reading, writing } = this.states;
    const { watchdog, abandoned } = this.context;
    const { grant, lease, readToken } = this;
    watchdog.unwatch(grant);
    grant.ended = true;
    writing.drop(grant);
    // The writer's token has no release, so its final undo starts here.
    abandoned.released(grant, grant.ttlMs);
    // The store may have admitted readers of this process before this answer. Readers that asked before the writer have a lease that
    // ended when the writer got the lock. A command that was sent later was executed behind the writer.
    if (reading.grant !== undefined && reading.grant.startedAt <= grant.startedAt)
      watchdog.lose(reading.grant, { reason: 'deleted' });
    if (reading.isContendedEarly(readToken)) readGrant.contended = true;
    reading.releaseEnds(readToken);
    const isFirst = reading.grant === undefined;
    if (isFirst) {
      abandoned.granted(readToken, this.finalUndoAt);
      reading.open(readGrant, lease.fencingToken);
    } else this.abandonReader(); // the readers share one grant
    reading.join(lease);
    if (isFirst) reading.admitAll();
    writing.grantEnded();
    this.context.changed(writing);
    this.settle?.resolve();
  }

  /** The read lease is at least as long as the writer's lease was, and keeps its fencing token. */
  private readGrant(waiting: number, sentAt: number, ttlMs: number): Grant {
    const { key, validUntil, toShorten } = this.grant;
    const { watchdog } = this.context;
    const made = new Grant(watchdog.check, key, this.readToken, ttlMs, sentAt, this.lease.fencingToken, 1, waiting);
    made.validUntil = Math.max(made.validUntil, validUntil);
    // A command that is not confirmed may have lengthened the lease: an extension of the writer, or an earlier downgrade.
    made.toShorten = toShorten || ttlMs < this.longestMs;
    return made;
  }
}
