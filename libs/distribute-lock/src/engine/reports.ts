import { type LockHandOver, traceHold, traceHoldEnd, traceOf, traceWait } from '../channels.js';
import { isLockError, type LeaseLostError } from '../errors.js';
import type { LockEvents } from '../events.js';
import type { LockCall } from './lease/lock-call.js';

// Every report about a call and its lease, to `LockEvents` and to the diagnostics channels.

/** The call starts to wait. */
export function reportWait<C extends LockCall>(call: C): C {
  if (call.multiKey === true) return call;
  const trace = traceOf(call);
  return trace === undefined ? call : { ...call, trace };
}

/** The first waiter gets a lock that another caller has held. */
export function reportHandOver(waiter: { readonly call: LockCall } | undefined, path: LockHandOver | undefined): void {
  const trace = waiter?.call.trace;
  if (trace !== undefined && path !== undefined) trace.acquire.handOver = path;
}

/** The call got a lease. The keys of a multi-key call are reported together by {@link reportHold}. */
export function reportAcquired(events: LockEvents, call: LockCall, waitedMs: number, fencingToken: number): void {
  if (events.observes('acquired')) events.emit({ type: 'acquired', name: call.name, waitedMs }, call);
  if (call.trace !== undefined && call.multiKey !== true) reportHold([call], waitedMs, [fencingToken]);
}

/** The holds of a call begin: one for each key. */
export function reportHold(calls: readonly LockCall[], waitedMs: number, fencingTokens: readonly number[]): void {
  const { trace } = calls[0];
  if (trace === undefined) return;
  traceWait(trace, { outcome: 'acquired', waitedMs, fencingToken: Math.max(...fencingTokens) });
  calls.forEach((call, i) => traceHold(call, fencingTokens[i]));
}

/** The call ended without a lease. A multi-key call is reported when the whole call has ended. */
export function reportRefused(events: LockEvents, call: LockCall, waitedMs: number, error: Error): void {
  const { name, multiKey, trace = multiKey === true ? undefined : traceOf(call) } = call;
  if (multiKey === true) return;
  const isTimeout = isLockError(error, 'LOCK_WAIT_TIMEOUT');
  const type = isTimeout || isLockError(error, 'LOCK_CONTENDED') ? 'contended' : 'refused';
  if (events.observes(type)) events.emit({ type, name, waitedMs, error }, call);
  if (trace !== undefined) traceWait(trace, { outcome: isTimeout ? 'timeout' : type, waitedMs, error });
}

/** @param detached - whether the key stays locked for a ticket */
export function reportReleased(events: LockEvents, call: LockCall, heldMs: number, detached = false): void {
  if (events.observes('released')) {
    const event = { type: 'released', name: call.name, heldMs } as const;
    events.emit(detached ? { ...event, detached } : event, call);
  }
  traceHoldEnd(call, heldMs);
}

/** A lease that shutdown has ended, and whose key is gone. */
export const reportGone = traceHoldEnd;

export function reportLost(events: LockEvents, call: LockCall, heldMs: number, error: LeaseLostError): void {
  events.emit({ type: 'lost', name: call.name, heldMs, reason: error.reason, error }, call);
  traceHoldEnd(call, heldMs, error);
}
