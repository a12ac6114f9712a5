import type { LeaseLossReason } from './errors.js';
import { outside } from './runtime/outside.js';
import { knownAs } from './runtime/process-wide.js';

/**
 * What happened to a lock. Its `name` never contains the rendered key.
 *
 * `contended` is normal (somebody else has it, or `wait` ran out); `refused` is every other call that ended without a lease.
 * Either comes once for a call, `acquired` and `released` for each of its keys.
 * `held-long` comes once for a lease that is held for longer than option `warnAfter`.
 * `degraded` is about no lock: messages cannot be received, so waiting callers poll; messages were dropped that no process of this
 * package sends; or abandoned attempts could not all be undone.
 * @public
 */
export interface LockEvent {
  readonly type:
    'acquired' | 'contended' | 'refused' | 'released' | 'held-long' | 'lost' | 'release-failed' | 'degraded';
  /** Class and method of a decorated call, or option `name` of a call of `LockService`. */
  readonly name: string;
  /** How long the caller waited for the lock, milliseconds. */
  readonly waitedMs?: number;
  /** How long the lease was held, milliseconds. */
  readonly heldMs?: number;
  /** How many wait for the lock, for `held-long`: callers of this process, and other processes as far as they are known. */
  readonly waiting?: number;
  /** Why the lease was lost, for `lost`. */
  readonly reason?: LeaseLossReason;
  /** What went wrong, for all but `acquired`, `released` and `held-long`. */
  readonly error?: Error;
}

/** @public */
export type LockEventType = LockEvent['type'];

/** @public */
export type LockEventListener = (event: LockEvent) => void;

/** A subscription: one listener may have several. */
interface Subscription {
  readonly listener: LockEventListener;
}

const TYPES: readonly LockEventType[] = [
  'acquired',
  'contended',
  'refused',
  'released',
  'held-long',
  'lost',
  'release-failed',
  'degraded',
];

/**
 * Tells observers what happened to locks; a listener's throw never reaches a caller.
 *
 * @example
 * ```ts
 * constructor(events: LockEvents) {
 *   events.listen(({ name, heldMs }) => this.histogram.observe({ name }, heldMs ?? 0), 'released');
 * }
 * ```
 * @public
 */
export class LockEvents {
  private readonly subscriptions = new Map<LockEventType, Set<Subscription>>();

  /** Whether anybody listens to it, so that hot paths can skip making the event. @internal */
  observes(type: LockEventType): boolean {
    return this.subscriptions.has(type);
  }

  /**
   * Calls `listener` at every event of these types, of all types when none is given. It belongs to no call and no request,
   * whichever the event comes from: it is no holder of a lock, and finds nothing in an `AsyncLocalStorage`.
   * @returns ends the subscription
   */
  listen(listener: LockEventListener, ...types: readonly LockEventType[]): () => void {
    const wanted = types.length === 0 ? TYPES : types;
    const subscription = { listener };
    for (const type of wanted) {
      const others = this.subscriptions.get(type) ?? new Set();
      this.subscriptions.set(type, others.add(subscription));
    }
    return () => wanted.forEach((type) => this.forget(type, subscription));
  }

  /** @internal */
  emit(event: LockEvent): void {
    const subscriptions = this.subscriptions.get(event.type);
    if (subscriptions !== undefined) outside(() => subscriptions.forEach(({ listener }) => tell(listener, event)));
  }

  private forget(type: LockEventType, subscription: Subscription): void {
    const subscriptions = this.subscriptions.get(type);
    subscriptions?.delete(subscription);
    if (subscriptions?.size === 0) this.subscriptions.delete(type);
  }
}

/** An observer must not change what it observes, neither by a throw nor by a promise that rejects. */
function tell(listener: LockEventListener, event: LockEvent): void {
  try {
    const told: unknown = listener(event);
    if (told instanceof Promise) told.catch(() => undefined);
  } catch {
    // See above.
  }
}

knownAs('LockEvents', LockEvents);
