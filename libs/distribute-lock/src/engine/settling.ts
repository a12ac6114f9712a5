import { isLockError } from '../errors.js';
import { LeaseHandle, type LeaseKeeper } from './lease/lease-handle.js';
import type { Grant } from './lease/grant.js';
import type { CoreParts } from './core-parts.js';
import type { Line } from './line.js';
import { aborted } from './refusals.js';
import { reportAcquired, reportRefused } from './reports.js';
import type { Waiter } from './waiter.js';

/** Removes the waiter from its line, its timer and its signals. */
function dismiss({ timers, settled }: CoreParts, waiter: Waiter): void {
  waiter.line?.remove(waiter);
  timers.remove(waiter);
  waiter.deaf();
  settled();
}

/** Ends the wait with an error. */
export function refuse(parts: CoreParts, waiter: Waiter, error: Error): void {
  dismiss(parts, waiter);
  parts.kept.drop(waiter.call);
  const reason = waiter.givenUp && isLockError(error, 'LOCK_CONTENDED') ? aborted(waiter.call) : error;
  reportRefused(parts.events, waiter.call, parts.clock.now() - waiter.since, reason);
  waiter.reject(reason);
}

/** Ends the wait of a caller that asks again in another way, without an event. */
export function withdraw(parts: CoreParts, waiter: Waiter, reason: Error): void {
  dismiss(parts, waiter);
  parts.kept.drop(waiter.call);
  waiter.reject(reason);
}

/** Refuses the non-waiting callers of the line that arrived before `before`. */
export function refuseImpatient(parts: CoreParts, line: Line, why: (waiter: Waiter) => Error, before = Infinity): void {
  let waiter = line.patient < line.size ? line.first : undefined;
  while (waiter !== undefined) {
    const { behind } = waiter;
    if (!waiter.waits && waiter.since < before) refuse(parts, waiter, why(waiter));
    waiter = behind;
  }
}

/** Ends the wait with a lease on the grant. */
export function start(parts: CoreParts, keeper: LeaseKeeper, waiter: Waiter, grant: Grant, now: number): void {
  const lease = new LeaseHandle(keeper, grant, waiter.call, grant.numbers.take(), Math.ceil(now));
  grant.holder = lease;
  grant.passes += 1;
  parts.watchdog.watch(grant, now);
  hand(parts, waiter, lease, now);
}

/** Ends the wait with this lease. */
export function hand(parts: CoreParts, waiter: Waiter, lease: LeaseHandle, now: number): void {
  dismiss(parts, waiter);
  reportAcquired(parts.events, waiter.call, now - waiter.since, lease.fencingToken);
  waiter.resolve(lease);
}
