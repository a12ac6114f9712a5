import { isLockError } from '../errors.js';
import { type LeaseActions, LeaseHandle } from './lease/lease-handle.js';
import type { Grant } from './lease/grant.js';
import type { LockCall } from './lease/lock-call.js';
import type { EngineContext } from './context.js';
import type { KeyState, Waiter, WaitList } from './key-state.js';
import { aborted, contended, noAnswer, unavailable, waitTimedOut } from './refusals.js';
import { reportAcquired, reportRefused } from './reports.js';

/** Removes the waiter from its wait list, its timer and its signals. */
function dismiss({ timers, settled }: EngineContext, waiter: Waiter): void {
  waiter.list?.remove(waiter);
  timers.remove(waiter);
  waiter.ignoreSignals();
  settled();
}

/** Ends the wait with an error. */
export function refuse(context: EngineContext, waiter: Waiter, error: Error): void {
  dismiss(context, waiter);
  context.kept.drop(waiter.call);
  const reason = waiter.givenUp && isLockError(error, 'LOCK_CONTENDED') ? aborted(waiter.call) : error;
  reportRefused(context.events, waiter.call, context.clock.now() - waiter.since, reason);
  waiter.reject(reason);
}

/** Ends the wait of a multi-key call, which takes its keys in another way; without an event. */
export function withdraw(context: EngineContext, waiter: Waiter, reason: Error): void {
  dismiss(context, waiter);
  context.kept.drop(waiter.call);
  waiter.reject(reason);
}

/** Refuses the non-waiting callers of the list that arrived before `before`. */
export function refuseNonWaiting(
  context: EngineContext,
  list: WaitList,
  why: (waiter: Waiter) => Error,
  before = Infinity,
): void {
  let waiter = list.patient < list.size ? list.first : undefined;
  while (waiter !== undefined) {
    const { behind } = waiter;
    if (!waiter.waits && waiter.since < before) refuse(context, waiter, why(waiter));
    waiter = behind;
  }
}

/** Ends the wait with a lease on the grant. */
export function start(context: EngineContext, engine: LeaseActions, waiter: Waiter, grant: Grant, now: number): void {
  const lease = new LeaseHandle(engine, grant, waiter.call, grant.numbers.take(), Math.ceil(now));
  grant.holder = lease;
  grant.passes += 1;
  context.watchdog.watch(grant, now);
  hand(context, waiter, lease, now);
}

/** Ends the wait with this lease. */
export function hand(context: EngineContext, waiter: Waiter, lease: LeaseHandle, now: number): void {
  dismiss(context, waiter);
  reportAcquired(context.events, waiter.call, now - waiter.since, lease.fencingToken);
  waiter.resolve(lease);
}

/** Refuses a caller that does not wait: another holder has the lock. */
export function refuseContended(context: EngineContext, state: KeyState, waiter: Waiter): void {
  const { call } = waiter;
  const retryAfterMs = context.estimates.of(call, leftMs(state, context.clock.now()), state);
  refuse(context, waiter, contended(call, retryAfterMs));
}

/** A store without an answer for this long counts as unavailable; a shorter wait may be below one round trip. */
const NO_ANSWER_MS = 250;

/** The error when `wait` has passed: another holder has the lock, or the store did not answer. */
export function timeUp(
  { clock, estimates }: EngineContext,
  call: LockCall,
  { attempt, state, single }: WaitList,
  since: number,
): Error {
  const now = clock.now();
  const waitedMs = now - since;
  const isSilent = attempt?.answered === false && now - Math.max(since, attempt.since) >= NO_ANSWER_MS;
  const trouble = attempt?.lastError ?? troubleOf(state, single) ?? (isSilent ? noAnswer(call) : undefined);
  if (trouble !== undefined) return unavailable(call, trouble);
  return waitTimedOut(call, waitedMs, estimates.of(call, leftMs(state, now), state));
}

/** The error of the attempt that asks for all single callers. */
const troubleOf = (state: KeyState, single: boolean): Error | undefined =>
  single ? state.longestQueued?.lastError : undefined;

/** Time after which a retry may succeed; -1 when unknown. */
function leftMs(state: KeyState, now: number): number {
  const ends = state.grants().map(({ validUntil }) => Math.max(0, validUntil - now));
  return ends.length === 0 ? state.holderLeftMs : Math.min(...ends);
}
