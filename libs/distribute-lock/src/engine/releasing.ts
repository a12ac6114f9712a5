import type { Grant } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import { Deadline } from '../runtime/timers.js';
import { type AnswerListener, type ReleaseAnswer, whenAnswered } from '../store/lock-store.js';
import type { Acquiring } from './acquiring.js';
import type { EngineContext } from './context.js';
import type { Attempt, KeyState, Waiter } from './key-state.js';
import { LARGEST_BLOCK, mayHandOver } from './local-hand-over.js';
import { reportHandOver } from './reports.js';

/** The longest time that a holder waits for an unanswered release. The release continues in the background. */
const PATIENCE_MS = 100;

/** A release in flight, with the context for its answer. */
class Release extends Deadline implements AnswerListener<ReleaseAnswer> {
  constructor(
    private readonly releasing: Releasing,
    readonly state: KeyState,
    readonly grant: Grant,
    readonly lease: LeaseHandle,
    readonly sentAt: number,
    /** The attempt of the waiters here, which the same command queues. */
    readonly attempt: Attempt | undefined,
    readonly ttlMs: number,
    readonly block: number,
    /** Lets the holder continue. */
    resume: () => void,
  ) {
    super(resume);
  }

  answered(answer: ReleaseAnswer): void {
    this.releasing.released(this, answer);
  }

  failed(error: Error): void {
    this.releasing.failed(this, error);
  }
}

/**
 * The second half of the protocol: ends a hold by a local hand-over, by a hand-over to another process, or by a release to the
 * store.
 */
export class Releasing {
  constructor(
    private readonly context: EngineContext,
    private readonly acquiring: Acquiring,
  ) {}

  /** The lease ended at `now`. Resolves when the lock was handed over or released, or when the store is too slow to answer. */
  handOver(state: KeyState, lease: LeaseHandle, now: number): Promise<void> | undefined {
    const { grant } = lease;
    const next = this.nextInMemory(state, lease, now);
    // A downgrade without an answer may still be executed, and would take the lock from the next holder. After an extension
    // without an answer, the key may stay locked for longer than the ttl of the next holder.
    const isUnsure = lease.replacing === grant || lease.isChanging || grant.toShorten;
    if (next === undefined || isUnsure) return this.release(state, grant, lease, now);
    grant.turnFrom ??= lease.startedAt;
    this.handOverInTurn(state, grant, lease);
    return undefined;
  }

  /** Separate, because V8 allocates the variables of a closure at the start of the function, so also for each release. */
  private handOverInTurn(state: KeyState, grant: Grant, lease: LeaseHandle): void {
    this.context.turn.step(() => {
      if (!grant.ended) this.handOverNow(state, grant, lease);
    });
  }

  /** Time may have passed since the decision, so every condition is checked again. */
  private handOverNow(state: KeyState, grant: Grant, lease: LeaseHandle): void {
    const now = this.context.clock.now();
    const next = this.nextInMemory(state, lease, now);
    if (next !== undefined) {
      reportHandOver(next, 'local');
      this.acquiring.wakeUps.wake({ reason: 'local hand-over', list: next.list!, grant, now });
    } else void this.release(state, grant, lease, now);
  }

  /** The waiter of this process that gets the lock in memory. */
  private nextInMemory(state: KeyState, lease: LeaseHandle, now: number): Waiter | undefined {
    const next = state.nextHolder(lease, now);
    return next && mayHandOver(lease, next.plan, now, this.inTurns(state, lease.grant)) ? next : undefined;
  }

  /** Whether another process must get its turn: it waits, or it may wait while this process receives no messages. */
  private inTurns({ inOrder }: KeyState, { contended, confirmedAt }: Grant): boolean {
    return !inOrder && (contended || !this.context.inbox.announcesSince(confirmedAt));
  }

  /** Runs `release` after `before` settles. The holder waits for both at most as long as for a release. */
  after(before: Promise<void>, release: () => Promise<void>): Promise<void> {
    const { timers } = this.context;
    return new Promise((resolve) => {
      const limit = new Deadline(resolve);
      timers.add(limit, PATIENCE_MS);
      void before.then(release, release).then(() => {
        timers.remove(limit);
        resolve();
      });
    });
  }

  /** Releases the grant to the store; the same command asks for the next waiter of this process. */
  release(state: KeyState, grant: Grant, lease: LeaseHandle, sentAt = this.context.clock.now()): Promise<void> {
    const { watchdog, timers } = this.context;
    watchdog.unwatch(grant);
    grant.ended = true;
    state.drop(grant);
    state.releaseStarts(grant.ownerToken);
    const attempt = this.nextAttempt(state);
    const ttlMs = attempt === undefined ? state.ownTtlMs : state.ttlMsOf(state.list);
    const block = Math.min(state.waiting, LARGEST_BLOCK);
    // The function captures one variable instead of all.
    let resume!: () => void;
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const release = new Release(this, state, grant, lease, sentAt, attempt, ttlMs, block, resume);
    whenAnswered(this.send(release), release);
    timers.add(release, PATIENCE_MS, sentAt);
    return resumed;
  }

  /** The attempt of this process that the release serves in its turn, or queues. */
  private nextAttempt(state: KeyState): Attempt | undefined {
    return state.next === undefined ? state.servedByRelease : this.acquiring.attempts.create(state.list);
  }

  private send({ state, grant, lease, attempt, ttlMs, block }: Release): PromiseLike<ReleaseAnswer> {
    const { key } = state;
    const { ownerToken } = grant;
    const { kind } = lease.call.options;
    if (attempt !== undefined) {
      this.context.timers.remove(attempt);
      attempt.wasSentByRelease(ttlMs);
      return this.context.store.release({
        key,
        ownerToken,
        kind,
        next: { ownerToken: attempt.ownerToken, ttlMs, block },
      });
    }
    if (ttlMs > 0) return this.context.store.release({ key, ownerToken, kind, grantOwn: { ttlMs, block: 1 } });
    return this.context.store.release({ key, ownerToken, kind });
  }

  /** @internal */
  released(release: Release, answer: ReleaseAnswer): void {
    const { lease, attempt } = release;
    attempt?.commandEnded();
    if (answer.outcome === 'lost' && this.isLoss(release, answer.resent))
      lease.lose({ reason: answer.taken === true ? 'taken' : 'deleted' });
    if (answer.outcome === 'granted') this.grantedNext(release, answer);
    else if (attempt !== undefined) this.notGranted(release, attempt, answer);
    this.context.abandoned.released(release.grant, release.grant.ttlMs);
    this.settle(release);
  }

  /**
   * Whether the lock was absent although its lease had not ended. A copy of the release, or a downgrade without an answer, may have
   * removed the token. A command that was delayed beyond the lease finds nothing either.
   */
  private isLoss({ grant, lease }: Release, resent: boolean): boolean {
    return !resent && lease.replacing !== grant && this.context.clock.now() < grant.validUntil;
  }

  /** @internal */
  failed(release: Release, error: Error): void {
    const { state, grant, lease, attempt } = release;
    this.undo(state.key, grant.ownerToken, grant.ttlMs);
    this.context.events.emit({ type: 'release-failed', name: lease.call.name, error });
    if (attempt !== undefined) this.acquiring.failed(attempt, error);
    this.settle(release);
  }

  private settle(release: Release): void {
    const { state, grant } = release;
    this.context.timers.remove(release);
    state.releaseEnds(grant.ownerToken);
    this.context.changed(state);
    release.due();
  }

  private notGranted({ state }: Release, attempt: Attempt, answer: ReleaseAnswer): void {
    attempt.wasPlaced();
    if (attempt.over) this.undo(state.key, attempt.ownerToken, attempt.ttlMs);
    else if (answer.outcome === 'queued') this.acquiring.queued(attempt, answer);
    else this.acquiring.wakeUps.wake({ reason: 'due', attempt });
  }

  private grantedNext(release: Release, answer: Extract<ReleaseAnswer, { outcome: 'granted' }>): void {
    const { state, sentAt, ttlMs } = release;
    const { ownerToken, fencingToken, waiting } = answer;
    const attempt = release.attempt ?? state.attemptOf(ownerToken);
    if (attempt === undefined) return this.undo(state.key, ownerToken, ttlMs);
    const block = release.attempt === undefined ? 1 : release.block;
    reportHandOver(attempt.list.first, 'local');
    this.acquiring.won(
      attempt,
      this.acquiring.newGrant(state, ownerToken, ttlMs, sentAt, fencingToken, block, waiting),
    );
  }

  private undo(key: string, ownerToken: string, ttlMs: number): void {
    this.context.abandoned.abandon({ key, ownerToken }, ttlMs);
  }
}
