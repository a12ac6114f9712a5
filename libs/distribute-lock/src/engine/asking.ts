import { validUntil } from './lease/grant.js';
import { whenAnswered, type AcquireAnswer, isPassing, LockStoreError, mayTakeEffect } from '../store/lock-store.js';
import { finalUndoAt } from '../store/abandoned-tokens.js';
import { Attempt } from './attempt.js';
import type { CoreParts } from './core-parts.js';
import type { Granted } from './granted.js';
import { askAgainInMs, SharedHeartbeat } from './heartbeat.js';
import type { KeyQueue } from './key-queue.js';
import type { Line } from './line.js';
import { MOST_NUMBERS } from './local-passing.js';
import { provenOffer } from './proven-offer.js';
import { Question, type Questioner } from './question.js';
import { contended, mismatch, unavailable } from './refusals.js';
import { reportHandOver } from './reports.js';
import { refuse, refuseImpatient } from './settling.js';

type Queued = Extract<AcquireAnswer, { outcome: 'queued' }>;

/** Notified of the outcome of an attempt. */
export interface AskingListener {
  granted(line: Line, granted: Granted, contended: boolean, now: number): void;
  /** A line or an attempt of the queue has changed, so the queue may be idle. */
  changed(queue: KeyQueue): void;
}

const tooLate = (): Error => new LockStoreError('its answer came after the end of the lease.', true);

/** Sends the attempts of the waiters to the store, until each waiter is served or has left. */
export class Asking implements Questioner {
  private readonly again = (attempt: Attempt): void => this.ask(attempt);

  constructor(
    private readonly parts: CoreParts,
    private readonly listener: AskingListener,
  ) {}

  /** Creates a new attempt of the line with a new owner token; does not send it. */
  attempt(line: Line): Attempt {
    const { queue } = line;
    const { tokens, clock } = this.parts;
    const attempt = new Attempt(line, tokens.next(queue.suffix(line.first)), clock.now(), this.again);
    line.begin(attempt);
    if (line.single) queue.addSingle(line, attempt);
    return attempt;
  }

  /** Sends the attempt for the first time, or again. */
  ask(attempt: Attempt): void {
    const { line } = attempt;
    if (attempt.over || attempt.inFlight || line.first === undefined) return;
    attempt.inFlight = true;
    const unready = line.waits ? this.parts.mailbox.ready() : undefined;
    if (unready === undefined || line.patient < line.size) return this.send(attempt, line);
    attempt.held = true;
    void unready.then(() => {
      if (attempt.held) this.hurry(attempt);
    });
  }

  /** Sends the attempt now, for a non-waiting caller: neither the subscription nor the back-off after a failure delays it. */
  hurry(attempt: Attempt): void {
    if (!attempt.held) return this.ask(attempt);
    attempt.held = false;
    this.send(attempt, attempt.line);
  }

  /** Ends the attempt without a grant. Undoes it if a command may have been sent, also while one is in flight. */
  abandon(attempt: Attempt): void {
    const { line } = attempt;
    this.parts.timers.remove(attempt);
    line.queue.end(attempt);
    if (attempt.sent || (attempt.inFlight && !attempt.held)) this.undo(attempt);
  }

  private abandonAll(line: Line): void {
    for (const attempt of line.queue.attempts()) if (attempt.line === line) this.abandon(attempt);
  }

  /** The store queued the attempt: it sleeps until a message or the next heartbeat. */
  queued(attempt: Attempt, answer: Pick<Queued, 'remainingMs'> & Partial<Queued>): void {
    const { remainingMs, foreign = false, ownToken, stood } = answer;
    const { queue, single } = attempt.line;
    const isNew = !attempt.queued;
    const { asksForAll } = attempt;
    attempt.answered = attempt.queued = true;
    attempt.asksForAll = false;
    this.sleep(attempt, isNew, remainingMs, foreign);
    if (single && asksForAll) this.heartbeatAnswered(queue, isNew || stood !== false);
    const offered = ownToken === undefined ? undefined : queue.attemptOf(ownToken);
    // The message about that offer is late or lost.
    if (offered !== undefined && !offered.offered) this.offered(offered);
  }

  private sleep(attempt: Attempt, isNew: boolean, leftMs: number, foreign: boolean): void {
    const { line } = attempt;
    const { timers } = this.parts;
    refuseImpatient(this.parts, line, ({ call }) => contended(call, this.parts.retries.of(call, leftMs)));
    // No waiting caller is left.
    if (line.first === undefined) return this.abandon(attempt);
    if (attempt.offered) return this.ask(attempt);
    attempt.holderLeftMs = leftMs;
    const againInMs = askAgainInMs(this.parts, attempt, leftMs, foreign);
    if (!line.single) return timers.add(attempt, againInMs);
    const { queue } = line;
    queue.heartbeat ??= new SharedHeartbeat(queue, this.parts, this.again);
    if (isNew) queue.heartbeat.joined(attempt);
    queue.heartbeat.within(againInMs);
  }

  /** @param stands - whether the attempt was still in the queue, so that the process has kept its places */
  private heartbeatAnswered(queue: KeyQueue, stands: boolean): void {
    if (stands) queue.heartbeat?.askForLast();
    else this.askForQueued(queue);
  }

  /** The store has lost all places of this process, so each queued attempt asks again once, in order. */
  private askForQueued(queue: KeyQueue): void {
    for (const { attempt } of queue.lines()) if (attempt?.queued === true) this.ask(attempt);
  }

  /** Pub/sub is unavailable: a sleeping attempt polls. */
  poll(attempt: Attempt): void {
    const { queue, single } = attempt.line;
    const sleeps = single ? attempt.queued : attempt.isScheduled;
    if (!sleeps || !attempt.answered) return;
    const againInMs = askAgainInMs(this.parts, attempt, attempt.holderLeftMs, false);
    if (single) queue.heartbeat?.within(againInMs);
    else this.parts.timers.add(attempt, againInMs);
  }

  /** A message offered the lock to the attempt's token. The process claims it, or the holder begins at once. */
  offered(attempt: Attempt, fencingToken?: number, block?: number): void {
    attempt.offered = true;
    attempt.awaitsMessage = false;
    const now = this.parts.clock.now();
    const mayBegin = fencingToken !== undefined && !this.parts.confirmOffers;
    const granted = mayBegin ? provenOffer(attempt, { fencingToken, block }, now) : undefined;
    if (granted === undefined) return this.ask(attempt);
    reportHandOver(attempt.line.first, 'message');
    this.parts.timers.remove(attempt);
    this.endGranted(attempt);
    this.listener.granted(attempt.line, granted, attempt.contended, now);
  }

  won(attempt: Attempt, granted: Granted): void {
    attempt.sent = true;
    if (attempt.over) return this.undo(attempt);
    const { line } = attempt;
    if (line.first === undefined) return this.abandon(attempt);
    // The caller that sent the attempt may have left; the next caller needs a lease of exactly its own ttl.
    const wantedMs = line.queue.ttlMsOf(line);
    if (wantedMs > granted.ttlMs) return this.ask(attempt);
    if (wantedMs < granted.ttlMs && line.queue.lane !== 'read') return this.askAnew(attempt);
    this.parts.timers.remove(attempt);
    this.endGranted(attempt);
    const now = this.parts.clock.now();
    if (now < validUntil(granted.sentAt, granted.ttlMs)) {
      return this.listener.granted(line, granted, attempt.contended, now);
    }
    // The answer came too late to prove the lease: release it and ask again.
    this.undo(attempt);
    // Fail non-waiting callers instead of retrying.
    refuseImpatient(this.parts, line, ({ call }) => unavailable(call, tooLate()));
    this.askFor(line);
  }

  /** Asks again with a new token; the grant of the old token is released. */
  private askAnew(attempt: Attempt): void {
    this.abandon(attempt);
    this.askFor(attempt.line);
  }

  private askFor(line: Line): void {
    if (line.first !== undefined && line.attempt === undefined) this.ask(this.attempt(line));
  }

  failed(attempt: Attempt, error: Error): void {
    attempt.inFlight = false;
    attempt.awaitsMessage = false;
    if (mayTakeEffect(error)) {
      attempt.sent = true;
      attempt.finalUndoAt = finalUndoAt(this.parts.clock.now());
    }
    if (attempt.over) {
      if (attempt.sent) this.undo(attempt);
      else this.parts.abandoned.neverSent(attempt.ownerToken);
      return;
    }
    attempt.lastError = error;
    const { line } = attempt;
    const passing = isPassing(error);
    if (passing) refuseImpatient(this.parts, line, ({ call }) => unavailable(call, error));
    else while (line.first !== undefined) refuse(this.parts, line.first, unavailable(line.first.call, error));
    if (!passing && attempt.asksForAll) this.askForQueued(line.queue);
    if (line.first === undefined) this.abandonAll(line);
    else this.parts.timers.add(attempt, attempt.nextDelayMs());
    this.listener.changed(line.queue);
  }

  /** A command of the attempt was sent on two connections: the store may still execute the first copy. */
  resent(attempt: Attempt): void {
    attempt.finalUndoAt = finalUndoAt(this.parts.clock.now());
  }

  /** The answer came after the command had failed: Redis may have executed the command after its undo. */
  late(attempt: Attempt): void {
    if (attempt.over) this.undo(attempt, true);
  }

  private send(attempt: Attempt, line: Line): void {
    const { first } = line;
    if (attempt.over || first === undefined) return;
    this.parts.timers.remove(attempt);
    const { kind, permits } = first.call.options;
    const { ownerToken } = attempt;
    const ttlMs = line.queue.ttlMsOf(line);
    attempt.ttlMs = ttlMs;
    const block = Math.min(line.size, MOST_NUMBERS);
    const sentAt = this.parts.clock.now();
    attempt.asked(Math.floor(sentAt));
    const request = { key: line.queue.key, ownerToken, kind, ttlMs, wait: line.waits, block, permits };
    whenAnswered(this.parts.store.acquire(request), new Question(this, attempt, ttlMs, block, sentAt));
  }

  /** @internal */
  answered({ attempt, ttlMs, block, sentAt }: Question, answer: AcquireAnswer): void {
    attempt.inFlight = false;
    if (answer.resent === true) this.resent(attempt);
    if (answer.outcome === 'granted') {
      if (attempt.awaitsMessage && !attempt.over) this.parts.store.messageMissed?.();
      const { ownerToken } = attempt;
      reportHandOver(attempt.line.first, attempt.path);
      const { fencingToken, waiting } = answer;
      this.won(attempt, { ownerToken, ttlMs, sentAt, block, fencingToken, waiting });
      const { queue } = attempt.line;
      // Nothing waits in the store, so it has lost the places of callers that sleep here.
      if (waiting === 0 && queue.longestQueued !== undefined) this.askForQueued(queue);
      else if (attempt.asksForAll) queue.heartbeat?.askForLast();
    } else this.notGranted(attempt, answer);
    this.listener.changed(attempt.line.queue);
  }

  private notGranted(attempt: Attempt, answer: Exclude<AcquireAnswer, { outcome: 'granted' }>): void {
    if (attempt.over) {
      if (answer.outcome === 'queued' || answer.resent === true) this.undo(attempt);
      return;
    }
    attempt.failures = 0;
    attempt.sent = attempt.answered = true;
    attempt.lastError = undefined;
    if (answer.outcome === 'queued') return this.queued(attempt, answer);
    const { line } = attempt;
    if (answer.outcome === 'mismatch') return this.mismatched(attempt, answer.permits);
    const { retries } = this.parts;
    refuseImpatient(this.parts, line, ({ call }) => contended(call, retries.of(call, answer.remainingMs)));
    if (line.first !== undefined) return this.ask(attempt);
    // An earlier command without an answer may still occupy a place in the queue.
    if (attempt.finalUndoAt === 0) line.queue.end(attempt);
    else this.abandon(attempt);
  }

  /** The store has not queued the token. The next caller may want other permits, so the attempt ends. */
  private mismatched(attempt: Attempt, permits: number | undefined): void {
    const { line } = attempt;
    if (attempt.finalUndoAt === 0) line.queue.end(attempt);
    else this.abandon(attempt);
    if (line.first !== undefined) refuse(this.parts, line.first, mismatch(line.first.call, permits));
    if (line.first === undefined) this.abandonAll(line);
    this.askFor(line);
  }

  private endGranted(attempt: Attempt): void {
    attempt.line.queue.end(attempt);
    if (attempt.finalUndoAt > 0) this.parts.abandoned.granted(attempt.ownerToken, attempt.finalUndoAt);
  }

  /** Removes the token from the lock and from its queue. */
  undo({ line, ownerToken, ttlMs, finalUndoAt: finalAt }: Attempt, again = false): void {
    // The token holds a grant, which a second answer must not undo.
    if (line.queue.grantOf(ownerToken) !== undefined) return;
    this.parts.abandoned.abandon({ key: line.queue.key, ownerToken }, ttlMs, { finalAt, again });
  }
}
