import { Grant, MOST_LATE_ANSWERS, restMs } from './lease/grant.js';
import { finalUndoAt } from '../store/abandoned-tokens.js';
import {
  type AcquireAnswer,
  type AnswerListener,
  isPassing,
  LockStoreError,
  mayTakeEffect,
} from '../store/lock-store.js';
import { Attempts } from './attempts.js';
import type { EngineContext } from './context.js';
import type { Attempt, KeyState } from './key-state.js';
import { reportHandOver } from './reports.js';
import { MOST_LATE_MS } from './settling.js';
import { WakeUps } from './wake-ups.js';

type Queued = Extract<AcquireAnswer, { outcome: 'queued' }>;

/** A command in flight, with the context for its answer. */
class AttemptCommand implements AnswerListener<AcquireAnswer> {
  constructor(
    private readonly acquiring: Acquiring,
    readonly attempt: Attempt,
    readonly ttlMs: number,
    /** Number of fencing tokens requested. */
    readonly block: number,
    readonly sentAt: number,
  ) {}

  answered(answer: AcquireAnswer): void {
    this.acquiring.answered(this, answer);
  }

  failed(error: Error): void {
    this.acquiring.failed(this.attempt, error);
  }

  late(): void {
    this.acquiring.late(this.attempt);
  }
}

/** The first half of the protocol: interprets what the store answers to attempts, until each waiter is served or has left. */
export class Acquiring {
  readonly attempts: Attempts;
  readonly wakeUps: WakeUps;

  constructor(private readonly context: EngineContext) {
    this.attempts = new Attempts(
      context,
      (attempt, ttlMs, block, sentAt) => new AttemptCommand(this, attempt, ttlMs, block, sentAt),
      (reason, attempt) => this.wakeUps.wake({ reason, attempt }),
    );
    this.wakeUps = new WakeUps(context, this.attempts);
  }

  /** @internal */
  answered(command: AttemptCommand, answer: AcquireAnswer): void {
    const { attempt } = command;
    const { sharesHeartbeat, state } = attempt.list;
    attempt.commandEnded();
    if (sharesHeartbeat) state.heartbeatError = undefined;
    if (answer.resent === true) this.resent(attempt);
    if (answer.outcome === 'granted') {
      if (attempt.awaitsMessage && !attempt.over) this.context.store.messageMissed?.();
      if (!attempt.over) reportHandOver(attempt.list.first, attempt.path);
      const { ttlMs, block, sentAt } = command;
      const { fencingToken, waiting } = answer;
      this.won(attempt, this.newGrant(state, attempt.ownerToken, ttlMs, sentAt, fencingToken, block, waiting));
      // Nothing waits in the store, so it has lost the places of callers that sleep here.
      if (waiting === 0 && state.longestQueued !== undefined) this.placesLost(state);
      else if (attempt.speaksForAll) this.attempts.sendLast(state);
    } else this.notGranted(attempt, answer);
    this.context.changed(state);
  }

  /** What the store gave by a command that was sent at `sentAt`. */
  newGrant(
    { key }: KeyState,
    ownerToken: string,
    ttlMs: number,
    sentAt: number,
    fencingToken: number,
    block: number,
    waiting: number,
  ): Grant {
    return new Grant(this.context.watchdog.check, key, ownerToken, ttlMs, sentAt, fencingToken, block, waiting);
  }

  /**
   * The store granted the attempt.
   * @param begins - whether the hold begins now; the hold of a multi-key call begins with its last key
   */
  won(attempt: Attempt, grant: Grant, begins = true): void {
    const { attempts, wakeUps } = this;
    attempt.wasExecuted();
    if (attempt.over) return attempts.undo(attempt);
    const { list } = attempt;
    if (list.first === undefined) return attempts.abandon(attempt);
    // The caller that sent the attempt may have left; the next caller needs a lease of exactly its own ttl.
    const wantedMs = list.state.ttlMsOf(list);
    if (wantedMs > grant.ttlMs) return wakeUps.wake({ reason: 'due', attempt });
    if (wantedMs < grant.ttlMs && list.state.kind !== 'read') {
      attempts.abandon(attempt);
      return wakeUps.wake({ reason: 'unusable grant', list });
    }
    const now = this.context.clock.now();
    if (begins && (this.isLate(attempt, grant, now) || isOutdated(attempt, grant))) return this.claimAgain(attempt);
    attempts.endGranted(attempt);
    if (now < grant.validUntil) {
      this.prepare(attempt, grant);
      return wakeUps.wake({ reason: 'granted', list, grant, now });
    }
    // The answer came too late to prove the lease: release it and ask again.
    attempts.undo(attempt);
    // Fail non-waiting callers instead of retrying.
    wakeUps.wake({ reason: 'failure', list, error: tooLate(), passing: true });
    wakeUps.wake({ reason: 'unusable grant', list });
  }

  /** Whether the lease cannot begin, because a pause of two thirds of its ttl would end it. */
  private isLate({ lateGrants, list }: Attempt, { validUntil, ttlMs }: Grant, now: number): boolean {
    // A caller that does not wait has time for one further command.
    const most = list.waits ? MOST_LATE_ANSWERS : 1;
    return now < validUntil && validUntil - now < restMs(ttlMs) && lateGrants < most;
  }

  /** Repeats the command, which the store answers with a fresh lease for the same token. */
  private claimAgain(attempt: Attempt): void {
    attempt.wasGrantedLate();
    const { first } = attempt.list;
    // The event loop was blocked for longer than the limit of the call.
    if (first?.isScheduled === false) this.context.timers.add(first, MOST_LATE_MS);
    this.wakeUps.wake({ reason: 'due', attempt });
  }

  private prepare(attempt: Attempt, grant: Grant): void {
    grant.contended ||= attempt.contended;
    // A holder learns of waiters and of a forced release only through the subscription.
    void this.context.inbox.ready();
  }

  /** A message or an answer says that the store offers the lock to the attempt: the process claims it, and its caller begins on the reply. */
  offered(attempt: Attempt): void {
    attempt.wasOffered();
    this.wakeUps.wake({ reason: 'due', attempt });
  }

  private notGranted(attempt: Attempt, answer: Exclude<AcquireAnswer, { outcome: 'granted' }>): void {
    if (attempt.over) {
      if (answer.outcome === 'queued' || answer.resent === true) this.attempts.undo(attempt);
      return;
    }
    attempt.wasRefused();
    if (answer.outcome === 'queued') return this.queued(attempt, answer);
    const { list } = attempt;
    this.wakeUps.wake({ reason: 'contended', list, leftMs: answer.remainingMs });
    // A waiting caller has joined the non-waiting ones, whose attempt the store did not queue.
    if (list.first !== undefined) this.wakeUps.wake({ reason: 'due', attempt });
    else this.attempts.endRefused(attempt);
    // A run may have further places.
    if (list.first === undefined) this.attempts.abandonAll(list);
  }

  /** The store queued the attempt: it sleeps until a message or the next heartbeat. */
  queued(attempt: Attempt, answer: Pick<Queued, 'remainingMs'> & Partial<Queued>): void {
    const { remainingMs, foreign = false, ownToken, keptPlace, adjacent = false } = answer;
    const { state, sharesHeartbeat } = attempt.list;
    const isNew = !attempt.queued;
    if (keptPlace === false && !adjacent) state.placedApart(attempt);
    const { speaksForAll } = attempt;
    attempt.wasQueued();
    this.sleep(attempt, isNew, remainingMs, foreign);
    if (sharesHeartbeat && speaksForAll) this.heartbeatAnswered(state, isNew || keptPlace !== false);
    const offered = ownToken === undefined ? undefined : state.attemptOf(ownToken);
    // The message about that offer is late or lost.
    if (offered !== undefined && !offered.offered) this.offered(offered);
  }

  private sleep(attempt: Attempt, isNew: boolean, leftMs: number, foreign: boolean): void {
    const { list } = attempt;
    this.wakeUps.wake({ reason: 'contended', list, leftMs });
    // No waiting caller is left.
    if (list.first === undefined) return this.attempts.abandonAll(list);
    if (attempt.offered) return this.wakeUps.wake({ reason: 'due', attempt });
    // A command is executed after it was sent.
    attempt.holderEndsAt = leftMs < 0 ? leftMs : (attempt.lastSentAt || this.context.clock.now()) + leftMs;
    this.attempts.sleep(attempt, leftMs, foreign, isNew);
  }

  /** @param keptPlaces - whether the attempt was still in the queue, and so were the others of this process */
  private heartbeatAnswered(state: KeyState, keptPlaces: boolean): void {
    if (keptPlaces) this.attempts.sendLast(state);
    else this.placesLost(state);
  }

  /** The store has lost all places of this process, so each queued attempt is sent again once, in order. */
  private placesLost(state: KeyState): void {
    for (const attempt of state.attempts()) {
      if (attempt.queued) this.wakeUps.wake({ reason: 'due', attempt });
    }
  }

  failed(attempt: Attempt, error: Error): void {
    attempt.commandEnded();
    attempt.awaitMessage(false);
    if (mayTakeEffect(error)) {
      attempt.wasExecuted();
      attempt.finalUndoAt = finalUndoAt(this.context.clock.now());
    }
    if (attempt.over) {
      if (attempt.mayBeInStore) this.attempts.undo(attempt);
      else this.context.abandoned.neverSent(attempt.ownerToken);
      return;
    }
    attempt.lastError = error;
    const { list } = attempt;
    // The search is long while no attempt is queued.
    const isForAll = attempt.speaksForAll || (attempt.queued && attempt === list.state.longestQueued);
    if (isForAll) list.state.heartbeatError = error;
    const passing = isPassing(error);
    this.wakeUps.wake({ reason: 'failure', list, error, passing });
    if (!passing && attempt.speaksForAll) this.placesLost(list.state);
    if (list.first === undefined) this.attempts.abandonAll(list);
    else this.context.timers.add(attempt, attempt.nextDelayMs());
    this.context.changed(list.state);
  }

  /** A command of the attempt was sent on two connections: the store may still execute the first copy. */
  resent(attempt: Attempt): void {
    attempt.finalUndoAt = finalUndoAt(this.context.clock.now());
  }

  /** The answer came after the command had failed: Redis may have executed the command after its undo. */
  late(attempt: Attempt): void {
    if (attempt.over) this.attempts.undo(attempt, true);
  }
}

/**
 * The caller came after the command was sent, because the callers before it have left. Since then, the store may have issued a larger
 * fencing token for another permit, and the caller may know it. The fresh lease of a repeated command has a larger token.
 */
const isOutdated = ({ list, since }: Attempt, { startedAt }: Grant): boolean =>
  list.state.kind === 'semaphore' && list.first!.since > Math.max(since, startedAt);

const tooLate = (): Error => new LockStoreError('its answer came after the end of the lease.', true);
