import type { Grant } from './lease/grant.js';
import type { LeaseHandle, LeaseKeeper } from './lease/lease-handle.js';
import { Timer } from '../runtime/timers.js';
import { type AnswerListener, whenAnswered, type ReleaseAnswer } from '../store/lock-store.js';
import type { Asking } from './asking.js';
import type { Attempt } from './attempt.js';
import type { CoreParts } from './core-parts.js';
import type { KeyQueue } from './key-queue.js';
import type { Line } from './line.js';
import { MOST_NUMBERS, mayPass } from './local-passing.js';
import { reportHandOver } from './reports.js';
import { start } from './settling.js';

/** The longest time that a holder waits for an unanswered release. The release continues in the background. */
const PATIENCE_MS = 100;

/** Notified of what happens after a lease has ended. */
export interface GivingListener {
  /** The first waiter of the line got the grant by a local hand-over. */
  passed(line: Line): void;
  changed(queue: KeyQueue): void;
}

/** Ends a wait after a delay. */
class Patience extends Timer {
  constructor(readonly due: () => void) {
    super();
  }

  override forgotten(): void {
    this.due();
  }
}

/** A release in flight, with the context for its answer. */
class Release extends Timer implements AnswerListener<ReleaseAnswer> {
  constructor(
    private readonly giving: GivingBack,
    readonly queue: KeyQueue,
    readonly grant: Grant,
    readonly lease: LeaseHandle,
    readonly sentAt: number,
    /** The attempt of the waiters here, which the same command queues. */
    readonly attempt: Attempt | undefined,
    readonly ttlMs: number,
    readonly block: number,
    /** Lets the holder continue. */
    readonly due: () => void,
  ) {
    super();
  }

  override forgotten(): void {
    this.due();
  }

  answered(answer: ReleaseAnswer): void {
    this.giving.released(this, answer);
  }

  failed(error: Error): void {
    this.giving.failed(this, error);
  }
}

/** Ends a hold: by a local hand-over, by a hand-over to another process, or by a release to the store. */
export class GivingBack {
  constructor(
    private readonly parts: CoreParts,
    private readonly asking: Asking,
    private readonly keeper: LeaseKeeper,
    private readonly listener: GivingListener,
  ) {}

  /** The lease has ended. Resolves when the lock was handed over or released, or when the store is too slow to answer. */
  giveOn(queue: KeyQueue, lease: LeaseHandle): Promise<void> | undefined {
    const { grant } = lease;
    const now = this.parts.clock.now();
    const next = queue.heir(lease, now);
    if (next === undefined || !mayPass(grant, next.call.options, now, queue.inOrder)) {
      return this.release(queue, grant, lease, now);
    }
    this.parts.turn.step(() => {
      if (!grant.ended) this.passOn(queue, grant, lease);
    });
    return undefined;
  }

  /** Time may have passed since the decision, so every condition is checked again. */
  private passOn(queue: KeyQueue, grant: Grant, lease: LeaseHandle): void {
    const now = this.parts.clock.now();
    const next = queue.heir(lease, now);
    if (next !== undefined && mayPass(grant, next.call.options, now, queue.inOrder)) {
      const line = next.line!;
      reportHandOver(next, 'local');
      start(this.parts, this.keeper, next, grant, now);
      this.listener.passed(line);
    } else void this.release(queue, grant, lease, now);
  }

  /** Runs `giveBack` after `before` settles. The holder waits for both at most as long as for a release. */
  after(before: Promise<void>, giveBack: () => Promise<void>): Promise<void> {
    const { timers } = this.parts;
    return new Promise((resolve) => {
      const patience = new Patience(resolve);
      timers.add(patience, PATIENCE_MS);
      void before.then(giveBack, giveBack).then(() => {
        timers.remove(patience);
        resolve();
      });
    });
  }

  /** Releases the grant to the store; the same command asks for the next waiter of this process. */
  release(queue: KeyQueue, grant: Grant, lease: LeaseHandle, sentAt = this.parts.clock.now()): Promise<void> {
    const { watchdog, timers } = this.parts;
    watchdog.unwatch(grant);
    grant.ended = true;
    queue.drop(grant);
    queue.releaseStarts(grant.ownerToken);
    const attempt = this.nextAttempt(queue);
    const ttlMs = attempt === undefined ? queue.ownTtlMs : queue.ttlMsOf(queue.line);
    const block = Math.min(queue.waiting, MOST_NUMBERS);
    return new Promise((resolve) => {
      const release = new Release(this, queue, grant, lease, sentAt, attempt, ttlMs, block, resolve);
      whenAnswered(this.send(release), release);
      timers.add(release, PATIENCE_MS, sentAt);
    });
  }

  /** The attempt of this process that the release serves in its turn, or queues. */
  private nextAttempt(queue: KeyQueue): Attempt | undefined {
    return queue.next === undefined ? queue.standing : this.asking.attempt(queue.line);
  }

  private send({ queue, grant, lease, attempt, ttlMs, block }: Release): PromiseLike<ReleaseAnswer> {
    const { key } = queue;
    const { ownerToken } = grant;
    const { kind } = lease.call.options;
    if (attempt !== undefined) {
      this.parts.timers.remove(attempt);
      attempt.inFlight = true;
      attempt.answered = true; // this process held the lock until now
      attempt.ttlMs = ttlMs;
      return this.parts.store.release({
        key,
        ownerToken,
        kind,
        next: { ownerToken: attempt.ownerToken, ttlMs, block },
      });
    }
    if (ttlMs > 0) return this.parts.store.release({ key, ownerToken, kind, grantOwn: { ttlMs, block: 1 } });
    return this.parts.store.release({ key, ownerToken, kind });
  }

  /** @internal */
  released(release: Release, answer: ReleaseAnswer): void {
    const { lease, attempt } = release;
    if (attempt !== undefined) attempt.inFlight = false;
    if (answer.outcome === 'lost' && !answer.resent)
      lease.lose({ reason: answer.taken === true ? 'taken' : 'deleted' });
    if (answer.outcome === 'granted') this.grantedNext(release, answer);
    else if (attempt !== undefined) this.notGranted(release, attempt, answer);
    this.parts.abandoned.released(release.grant, release.grant.ttlMs);
    this.settle(release);
  }

  /** @internal */
  failed(release: Release, error: Error): void {
    const { queue, grant, lease, attempt } = release;
    this.undo(queue.key, grant.ownerToken, grant.ttlMs);
    this.parts.events.emit({ type: 'release-failed', name: lease.call.name, error });
    if (attempt !== undefined) this.asking.failed(attempt, error);
    this.settle(release);
  }

  private settle(release: Release): void {
    const { queue, grant } = release;
    this.parts.timers.remove(release);
    queue.releaseEnds(grant.ownerToken);
    this.listener.changed(queue);
    release.due();
  }

  private notGranted({ queue }: Release, attempt: Attempt, answer: ReleaseAnswer): void {
    attempt.sent = true;
    if (attempt.over) this.undo(queue.key, attempt.ownerToken, attempt.ttlMs);
    else if (answer.outcome === 'queued') this.asking.queued(attempt, answer);
    else this.asking.ask(attempt);
  }

  private grantedNext(release: Release, answer: Extract<ReleaseAnswer, { outcome: 'granted' }>): void {
    const { queue, sentAt, ttlMs } = release;
    const { ownerToken, fencingToken, waiting } = answer;
    const attempt = release.attempt ?? queue.attemptOf(ownerToken);
    if (attempt === undefined) return this.undo(queue.key, ownerToken, ttlMs);
    const block = release.attempt === undefined ? 1 : release.block;
    reportHandOver(attempt.line.first, 'local');
    this.asking.won(attempt, { ownerToken, ttlMs, sentAt, block, fencingToken, waiting });
  }

  private undo(key: string, ownerToken: string, ttlMs: number): void {
    this.parts.abandoned.abandon({ key, ownerToken }, ttlMs);
  }
}
