import type { TokenKind } from '../runtime/owner-token.js';
import type { KeyState } from './key-state.js';

/** What this process has of one lock. Times are on the monotonic clock. */
export interface LockPresence {
  readonly key: string;
  readonly kind: TokenKind;
  /** Number of leases that this process holds. */
  readonly holders: number;
  /** Name of a call that holds the lock or waits for it. */
  readonly name: string;
  /** When the oldest hold began; `Infinity` without a holder. */
  readonly since: number;
  /** When the last lease ends without renewal; `-Infinity` without a holder. */
  readonly until: number;
  /** Number of callers of this process that wait. */
  readonly waiting: number;
  /** When the oldest wait began; `Infinity` without a waiter. */
  readonly waitingSince: number;
}

/**
 * Describes the state; the cost does not depend on the number of callers that share an attempt. It creates no arrays, because an open
 * page calls it for each lock three times a second.
 */
export function presenceOf(state: KeyState): LockPresence {
  let holders = 0;
  let since = Infinity;
  let until = -Infinity;
  let name = '';
  for (const { holder, validUntil } of state.grants()) {
    if (holder === undefined) continue;
    until = Math.max(until, validUntil);
    for (const hold of holder.holds) {
      holders += 1;
      name ||= hold.name;
      since = Math.min(since, hold.startedAt);
    }
  }
  let waiting = 0;
  let waitingSince = Infinity;
  for (const { patient, first } of state.lists()) {
    if (patient === 0 || first === undefined) continue;
    waiting += patient;
    name ||= first.call.name;
    waitingSince = Math.min(waitingSince, first.since);
  }
  return { key: state.key, kind: state.kind, holders, name, since, until, waiting, waitingSince };
}
