import type { Grant } from './lease/grant.js';
import type { Attempts } from './attempts.js';
import type { EngineContext } from './context.js';
import type { Attempt, KeyState, Waiter, WaitList } from './key-state.js';
import { aborted, contended, shuttingDown, unavailable } from './refusals.js';
import { MOST_LATE_MS, refuse, refuseNonWaiting, timeUp, withdraw } from './settling.js';

/** Every reason for which a waiter of a list continues; see {@link WakeUps.wake}. */
export type WakeUp =
  // The waiter gets a lease.
  /** The store granted the attempt. */
  | { readonly reason: 'granted'; readonly list: WaitList; readonly grant: Grant; readonly now: number }
  /** The holder in this process has released the lock, and the next waiter takes over its grant in memory. */
  | { readonly reason: 'local hand-over'; readonly list: WaitList; readonly grant: Grant; readonly now: number }
  /** The lease that the readers of this process share admits the reader. */
  | { readonly reason: 'reader gate'; readonly waiter: Waiter; readonly grant: Grant; readonly now: number }

  // The attempt of the waiter is sent again.
  /** It has slept long enough, a message or an answer concerns it, or its grant came late or with too short a ttl. */
  | { readonly reason: 'due'; readonly attempt: Attempt }
  /** The connection for messages is lost, so the attempt polls. */
  | { readonly reason: 'lost connection'; readonly attempt: Attempt }
  /** A non-waiting caller shares the attempt, or the subscription has opened or is late. */
  | { readonly reason: 'not delayed'; readonly attempt: Attempt }
  /** The grant does not suit the first waiter, so the list needs a new attempt. */
  | { readonly reason: 'unusable grant'; readonly list: WaitList }
  /** A grant of this process has ended. */
  | { readonly reason: 'grant ended'; readonly state: KeyState }

  // The waiter gets an error.
  /** Another holder has the lock, so the non-waiting callers are refused. */
  | { readonly reason: 'contended'; readonly list: WaitList; readonly leftMs: number; readonly state?: KeyState }
  /** The store failed. A passing failure ends only the non-waiting callers that arrived before `before`. */
  | {
      readonly reason: 'failure';
      readonly list: WaitList;
      readonly error: Error;
      readonly passing: boolean;
      readonly before?: number;
    }
  /** A multi-key call found one of its keys taken, and tries in another way. */
  | { readonly reason: 'key taken'; readonly waiter: Waiter; readonly error: Error }
  /** `wait` has passed, or the limit of a call that no longer waits. */
  | { readonly reason: 'time-out'; readonly waiter: Waiter }
  /** A signal of the caller has aborted. */
  | { readonly reason: 'abort'; readonly waiter: Waiter }
  /** The application shuts down. */
  | { readonly reason: 'shutdown'; readonly state: KeyState };

/** Lets waiters continue: with a lease, with another command to the store, or with an error. */
export class WakeUps {
  constructor(
    private readonly context: EngineContext,
    private readonly attempts: Attempts,
  ) {}

  wake(event: WakeUp): void {
    switch (event.reason) {
      case 'granted':
        return this.begin(event.list, event.grant, event.now);
      case 'local hand-over':
        return this.handOver(event.list, event.grant, event.now);
      case 'reader gate':
        return event.waiter.list?.state.serve(event.waiter, event.grant, event.now);
      case 'due':
        return this.attempts.send(event.attempt);
      case 'not delayed':
        return this.attempts.hurry(event.attempt);
      case 'lost connection':
        return this.attempts.poll(event.attempt);
      case 'unusable grant':
        return this.attempts.sendFor(event.list);
      case 'grant ended':
        return event.state.grantEnded();
      case 'contended':
        return this.refuseContended(event.list, event.leftMs, event.state);
      case 'failure':
        return this.refuseFailed(event.list, event.error, event.passing, event.before);
      case 'key taken':
        return withdraw(this.context, event.waiter, event.error);
      case 'time-out':
        return this.timeOut(event.waiter);
      case 'abort':
        return this.abort(event.waiter);
      case 'shutdown':
        return this.shutDown(event.state);
    }
  }

  private begin(list: WaitList, grant: Grant, now: number): void {
    const { state } = list;
    state.granted(list, grant, now);
    state.tidy();
  }

  private handOver(list: WaitList, grant: Grant, now: number): void {
    const { state } = list;
    state.serve(list.first!, grant, now);
    state.callersLeft(list);
  }

  private refuseContended(list: WaitList, leftMs: number, state: KeyState | undefined): void {
    const { estimates } = this.context;
    refuseNonWaiting(this.context, list, ({ call }) => contended(call, estimates.of(call, leftMs, state)));
  }

  private refuseFailed(list: WaitList, error: Error, passing: boolean, before: number | undefined): void {
    if (passing) refuseNonWaiting(this.context, list, ({ call }) => unavailable(call, error), before);
    else while (list.first !== undefined) refuse(this.context, list.first, unavailable(list.first.call, error));
  }

  private timeOut(waiter: Waiter): void {
    const { list, waits } = waiter;
    if (list === undefined) return;
    if (!waits) return this.endLate(waiter);
    // No holder is known: the next answer decides, and it has a limit.
    if (list.state.isUndecided(list)) return this.giveUp(list, waiter);
    this.leave(list, waiter, timeUp(this.context, waiter, list));
  }

  /** Ends the call at its limit. Answers that arrived while the event loop was blocked are processed first. */
  private endLate(waiter: Waiter): void {
    this.context.clock.nextTurn(() => {
      const { list, isScheduled } = waiter;
      // An answer may have given it more time.
      if (list !== undefined && !isScheduled) this.leave(list, waiter, timeUp(this.context, waiter, list));
    });
  }

  private abort(waiter: Waiter): void {
    const { call, list } = waiter;
    if (list === undefined) return;
    if (call.signal?.aborted === true || !list.state.mayBeFree(list)) return this.leave(list, waiter, aborted(call));
    // The client left before the first answer of the store, which decides whether the caller has to wait at all.
    this.giveUp(list, waiter);
  }

  private giveUp(list: WaitList, waiter: Waiter): void {
    if (waiter.waits) this.context.timers.add(waiter, MOST_LATE_MS);
    list.giveUp(waiter);
    if (list.attempt !== undefined) this.attempts.hurry(list.attempt);
  }

  private leave(list: WaitList, waiter: Waiter, error: Error): void {
    refuse(this.context, waiter, error);
    list.state.callersLeft(list);
    this.context.changed(list.state);
  }

  private shutDown(state: KeyState): void {
    for (const list of state.lists()) {
      while (list.first !== undefined) refuse(this.context, list.first, shuttingDown(list.first.call));
    }
    for (const attempt of state.attempts()) this.attempts.abandon(attempt);
    this.context.changed(state);
  }
}
