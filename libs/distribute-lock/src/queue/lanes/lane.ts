import type { Grant } from '../../lease/grant.js';
import type { LeaseHandle, LeaseKeeper } from '../../lease/lease-handle.js';
import type { Asking } from '../asking.js';
import type { CoreParts } from '../core-parts.js';
import type { GivingBack } from '../giving-back.js';
import type { KeyQueue } from '../key-queue.js';
import type { Line } from '../line.js';
import type { Waiter } from '../waiter.js';

/** What the lanes work with. */
export interface LaneParts {
  readonly core: CoreParts;
  readonly asking: Asking;
  readonly giving: GivingBack;
  readonly keeper: LeaseKeeper;
  /** Ends the wait of a caller that would not wait: somebody else has the lock. */
  turnAway(queue: KeyQueue, waiter: Waiter): void;
}

/** How callers of one kind of lock get their leases in this process. */
export interface Lane {
  newQueue(key: string): KeyQueue;
  /** A caller has come: it gets a lease, an error, or a place. */
  enter(queue: KeyQueue, waiter: Waiter): void;
  /** The store gave the lock to the line's attempt; somebody stands there. */
  granted(line: Line, grant: Grant, now: number): void;
  /** The work under the lease has ended, and nobody holds it any more. */
  ended(queue: KeyQueue, lease: LeaseHandle): Promise<void> | undefined;
  /** Callers have left the line, with a lease or without: the attempt may be nobody's any more, or not fit the next one. */
  moved(line: Line): void;
  /** Somebody else waits behind the grant. */
  contended(queue: KeyQueue, grant: Grant): void;
  /** A grant is gone, and callers may wait for another. */
  bereft(queue: KeyQueue): void;
}

/** Asks for the callers that wait in the shared line, unless they ask already. */
export function askAnew({ asking }: LaneParts, queue: KeyQueue): void {
  if (queue.next !== undefined) asking.ask(asking.attempt(queue.line));
}
