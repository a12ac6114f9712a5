import { finalUndoAt } from '../store/abandoned-tokens.js';
import { type AcquireAnswer, type AnswerListener, whenAnswered } from '../store/lock-store.js';
import type { EngineContext } from './context.js';
import { PlacesHeartbeat, SharedHeartbeat, sleepMs } from './heartbeat.js';
import { Attempt, type KeyState, type WaitList } from './key-state.js';
import { LARGEST_BLOCK } from './local-hand-over.js';
import { Alarm } from '../runtime/timers.js';

/** How long an attempt waits for the subscription. The lock may be free, and then it needs no message. */
const MOST_UNREADY_MS = 200;

/**
 * Receives the answer to one command of an attempt.
 * @param block - number of fencing tokens that the command requests
 */
type AttemptListener = (
  attempt: Attempt,
  ttlMs: number,
  block: number,
  sentAt: number,
) => AnswerListener<AcquireAnswer>;

/** Creates, sends, delays and ends the attempts of this process. */
export class Attempts {
  /** The heartbeats of callers with `fair: 'strict'`, and of callers for permits. */
  private readonly heartbeats = new WeakMap<KeyState, SharedHeartbeat>();
  private readonly due = (attempt: Attempt): void => this.wake('due', attempt);

  constructor(
    private readonly context: EngineContext,
    private readonly listener: AttemptListener,
    /** Called when an attempt has slept long enough, and when it need not wait for the subscription any longer. */
    private readonly wake: (reason: 'due' | 'not delayed', attempt: Attempt) => void,
  ) {}

  /** Creates a new attempt of the list with a new owner token; does not send it. */
  create(list: WaitList, now = this.context.clock.now()): Attempt {
    const { state } = list;
    const attempt = new Attempt(list, this.context.tokens.next(state.suffix(list.first)), now, this.due);
    list.begin(attempt);
    if (list.single) state.addSingle(list, attempt);
    return attempt;
  }

  /**
   * Sends a new attempt if the list has callers and no attempt.
   * @param now - the present time, if the caller has just read the clock
   */
  sendFor(list: WaitList, now?: number): void {
    if (list.first !== undefined && list.attempt === undefined) this.send(this.create(list, now), now);
  }

  /** Sends the attempt for the first time, or again. */
  send(attempt: Attempt, now?: number): void {
    const { list } = attempt;
    // Before the check: a store that reports the subscription at once makes this process send the attempt.
    const unready = list.waits ? this.context.inbox.ready() : undefined;
    if (!attempt.sendable || list.first === undefined) return;
    if (unready === undefined || list.patient < list.size) this.sendNow(attempt, list, now);
    else this.sendAfter(attempt, unready);
  }

  private sendAfter(attempt: Attempt, unready: Promise<void>): void {
    attempt.wasDelayed();
    const send = (): void => {
      if (attempt.delayed) this.wake('not delayed', attempt);
    };
    const late = new Alarm(send);
    this.context.timers.add(late, MOST_UNREADY_MS);
    void unready.then(() => {
      this.context.timers.remove(late);
      send();
    });
  }

  /** Sends the attempt now: neither the subscription nor the back-off after a failure delays it. */
  hurry(attempt: Attempt): void {
    if (!attempt.delayed) return this.send(attempt);
    this.sendNow(attempt, attempt.list);
  }

  private sendNow(attempt: Attempt, list: WaitList, sentAt = this.context.clock.now()): void {
    const { first, state } = list;
    if (first === undefined) return;
    this.context.timers.remove(attempt);
    const { options, steal } = first.call;
    const { kind } = options;
    const { ownerToken } = attempt;
    const ttlMs = state.ttlMsOf(list);
    const block = Math.min(list.size, LARGEST_BLOCK);
    attempt.wasSent(ttlMs, Math.floor(sentAt));
    const request = { key: state.key, ownerToken, kind, ttlMs, wait: list.waits, block, ...(steal && { steal }) };
    whenAnswered(this.context.store.acquire(request), this.listener(attempt, ttlMs, block, sentAt));
  }

  /** Lets the attempt sleep behind a lease with `leftMs` left, until a message or the next heartbeat. */
  sleep(attempt: Attempt, leftMs: number, foreign: boolean, isNew = false): void {
    const { list } = attempt;
    const { timers } = this.context;
    const againInMs = sleepMs(this.context, attempt, leftMs, foreign);
    if (!list.sharesHeartbeat) return timers.add(attempt, againInMs);
    const { state } = list;
    let heartbeat = this.heartbeats.get(state);
    if (heartbeat === undefined) {
      const Heartbeat = state.kind === 'semaphore' ? PlacesHeartbeat : SharedHeartbeat;
      this.heartbeats.set(state, (heartbeat = new Heartbeat(state, this.context, this.due)));
    }
    if (isNew) heartbeat.joined(attempt);
    heartbeat.within(againInMs);
  }

  /** Pub/sub is unavailable: a sleeping attempt polls. */
  poll(attempt: Attempt): void {
    const sleeps = attempt.list.sharesHeartbeat ? attempt.queued : attempt.isScheduled;
    if (sleeps && attempt.answered) this.sleep(attempt, -1, false);
  }

  /** The shared heartbeat also sends the attempt that was queued last. */
  sendLast(state: KeyState): void {
    this.heartbeats.get(state)?.sendLast();
  }

  /** Ends the attempt without a grant. Undoes it if a command may have been sent, also while one is in flight. */
  abandon(attempt: Attempt): void {
    const { needsUndo } = attempt;
    this.context.timers.remove(attempt);
    this.end(attempt);
    if (needsUndo) this.undo(attempt);
  }

  abandonAll(list: WaitList): void {
    for (const attempt of list.state.attempts()) if (attempt.list === list) this.abandon(attempt);
  }

  /** Ends an attempt whose latest command was not queued. An earlier command may still occupy a place. */
  endRefused(attempt: Attempt): void {
    if (attempt.finalUndoAt === 0 && !attempt.mayBeQueued) this.end(attempt);
    else this.abandon(attempt);
  }

  endGranted(attempt: Attempt): void {
    this.context.timers.remove(attempt);
    this.end(attempt);
    if (attempt.list.sharesHeartbeat) attempt.list.state.heartbeatError = undefined;
    if (attempt.finalUndoAt > 0) this.context.abandoned.granted(attempt.ownerToken, attempt.finalUndoAt);
  }

  /** The attempt ends, with a grant or without. */
  end(attempt: Attempt): void {
    const { state, sharesHeartbeat } = attempt.list;
    state.end(attempt);
    if (sharesHeartbeat) this.heartbeats.get(state)?.left(attempt);
  }

  /** Removes the token from the lock and from its queue. */
  undo(attempt: Attempt, again = false): void {
    const { list, ownerToken, ttlMs } = attempt;
    const { key } = list.state;
    // The token holds a grant, which a second answer must not undo.
    if (list.state.grantOf(ownerToken) !== undefined) return;
    // Its release is in flight. An undo that Redis executes first would make the answer to the release a loss.
    const released = list.state.isReleasing(ownerToken);
    const finalAt = released ? finalUndoAt(this.context.clock.now()) : attempt.finalUndoAt;
    this.context.abandoned.abandon({ key, ownerToken }, ttlMs, { finalAt, again, released });
  }
}
