import type { LockEvents } from '../events.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import type { KeyStates } from './key-states.js';

/**
 * Reports once that a lease is held for longer than `warnAfter`.
 * @param parts - the leases of its keys: for the caller, a multi-key call has one lease
 */
export function reportHeldLong(events: LockEvents, states: KeyStates, parts: readonly LeaseHandle[]): void {
  const [{ call, heldMs }] = parts;
  let waiting = 0;
  for (const part of parts) {
    part.reported();
    if (!part.ended) waiting += waitersBehind(states, part);
  }
  events.emit({ type: 'held-long', name: call.name, heldMs, waiting });
}

/** Callers of this process, of all kinds, and other processes as far as they are known. */
function waitersBehind(states: KeyStates, { key, grant }: LeaseHandle): number {
  let [here, queuedHere] = [0, 0];
  for (const state of states.ofKey(key)) {
    here += state.waiting;
    // The store counts the queued attempts of this process, except those for permits.
    if (grant.kind !== 'semaphore') queuedHere += state.attempts().filter(({ queued }) => queued).length;
  }
  return here + Math.max(0, grant.waitingElsewhere - queuedHere);
}
