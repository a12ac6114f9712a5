import { isLockError, type LockContendedError } from '../errors.js';
import { type LeaseActions, LeaseHandle } from './lease/lease-handle.js';
import type { Grant } from './lease/grant.js';
import type { LockCall } from './lease/lock-call.js';
import type { EngineContext } from './context.js';
import type { KeyState, Waiter, WaitList } from './key-state.js';
import { aborted, contended, unavailable, waitTimedOut } from './refusals.js';
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
  const waitedMs = context.clock.now() - waiter.since;
  const reason =
    waiter.givenUp && isLockError(error, 'LOCK_CONTENDED') ? waitOver(waiter.call, waitedMs, error) : error;
  reportRefused(context.events, waiter.call, waitedMs, reason);
  waiter.reject(reason);
}

/** The error of a caller whose wait ended before the answer that the lock is held. */
const waitOver = (call: LockCall, waitedMs: number, { retryAfterMs }: LockContendedError): Error =>
  call.endsWait?.aborted === true ? aborted(call) : waitTimedOut(call, waitedMs, retryAfterMs);

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
  const lease = new LeaseHandle(engine, grant, waiter.call, grant.block.take(), Math.ceil(now));
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

/**
 * A call settles at most this long after its `wait`: the limit for a reply, and the granularity of timers. The limit of
 * a command does not suffice, because its answer may require another command.
 */
export const MOST_LATE_MS = 850;

const noAnswer = new Error('it did not answer in time.');

/** The error when the time of a call has passed: the store fails, or another holder has the lock. */
export function timeUp({ clock, estimates }: EngineContext, waiter: Waiter, list: WaitList): Error {
  const { call, since, waits } = waiter;
  const { state } = list;
  const now = clock.now();
  const trouble = state.troubleOf(list) ?? (state.isUndecided(list) ? noAnswer : undefined);
  if (trouble !== undefined) return unavailable(call, trouble);
  const retryAfterMs = estimates.of(call, leftMs(state, now), state);
  return waits ? waitTimedOut(call, now - since, retryAfterMs) : contended(call, retryAfterMs);
}

/** Rest of the lease in front of a caller; -1 when unknown. */
export function leftMs(state: KeyState, now: number): number {
  const ends = state.hasGrant ? state.grants().map(({ validUntil }) => validUntil) : [state.holderEndsAt];
  const end = Math.min(...ends);
  return end < 0 ? end : Math.max(0, end - now);
}
