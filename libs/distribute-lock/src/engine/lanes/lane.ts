import type { Grant } from '../lease/grant.js';
import type { LeaseHandle, LeaseKeeper } from '../lease/lease-handle.js';
import type { Asking } from '../asking.js';
import type { CoreParts } from '../core-parts.js';
import type { GivingBack } from '../giving-back.js';
import type { KeyQueue } from '../key-queue.js';
import type { Line } from '../line.js';
import type { Waiter } from '../waiter.js';

/** Components that the lanes share. */
export interface LaneParts {
  readonly core: CoreParts;
  readonly asking: Asking;
  readonly giving: GivingBack;
  readonly keeper: LeaseKeeper;
  /** Refuses a non-waiting caller: another process holds the lock. */
  turnAway(queue: KeyQueue, waiter: Waiter): void;
}

/** How callers of one kind of lock get their leases in this process. */
export interface Lane {
  newQueue(key: string): KeyQueue;
  /** A new caller gets a lease, an error, or a place in the queue. */
  enter(queue: KeyQueue, waiter: Waiter): void;
  /** The store granted the lock to the attempt of the line, which has a caller. */
  granted(line: Line, grant: Grant, now: number): void;
  /** The work under the lease has ended. */
  ended(queue: KeyQueue, lease: LeaseHandle): Promise<void> | undefined;
  /** Callers have left the line, with or without a lease. Its attempt may have no caller, or not suit the next caller. */
  moved(line: Line): void;
  /** Another process waits behind the grant. */
  contended(queue: KeyQueue, grant: Grant): void;
  /** A grant has ended, and callers may wait for another one. */
  bereft(queue: KeyQueue): void;
}

/** Asks the store for the callers in the shared line, unless they have an attempt. */
export function askAnew({ asking }: LaneParts, queue: KeyQueue): void {
  if (queue.next !== undefined) asking.ask(asking.attempt(queue.line));
}
