import { channel } from 'node:diagnostics_channel';

import type { LeaseLossReason } from './errors.js';
import { outside } from './runtime/outside.js';
import { knownAs } from './runtime/process-wide.js';

/**
 * An event in the life of a lock. Its `name` never contains the rendered key.
 *
 * - `contended`: another caller holds the lock, or `wait` has passed. This is normal. One event per call.
 * - `refused`: the call ended without a lease for any other reason, except an invalid key or option. One event per call.
 * - `acquired`, `released`: one event for each key of a call.
 * - `held-long`: a lease is held for longer than option `warnAfter`. One event per lease.
 * - `lost`: the lease ended before its release.
 * - `release-failed`: Redis did not confirm a release. It is repeated, and the key ends with its `ttl` at the latest.
 * - `disconnected`, `reconnected`: an outage of a connection to Redis, and its end. `name` is the kind and address of the server.
 * - `degraded`: concerns no single lock. Pub/sub is unavailable, or the server refuses `PUBLISH`, so waiting callers poll; or messages
 *   were dropped that no process of this package sends; or some abandoned attempts could not be undone.
 * @public
 */
export interface LockEvent {
  /** What happened. */
  readonly type:
    | 'acquired'
    | 'contended'
    | 'refused'
    | 'released'
    | 'held-long'
    | 'lost'
    | 'release-failed'
    | 'degraded'
    | 'disconnected'
    | 'reconnected';
  /** Class and method of a decorated call, or option `name` of a call of `LockService`; without it, the constant part of the key. */
  readonly name: string;
  /** How long the caller waited for the lock, milliseconds. */
  readonly waitedMs?: number;
  /** How long the lease was held, milliseconds. */
  readonly heldMs?: number;
  /** Whether the lease was detached, for `released`: its key stays locked until its ticket is used, cancelled or expired. */
  readonly detached?: boolean;
  /** Number of waiters, for `held-long`: callers of this process, and other processes as far as they are known. */
  readonly waiting?: number;
  /** How long the outage lasted, for `reconnected`, milliseconds. */
  readonly outageMs?: number;
  /** The reason for the loss, for `lost`. */
  readonly reason?: LeaseLossReason;
  /** The failure, for all types except `acquired`, `released`, `held-long` and `reconnected`. */
  readonly error?: Error;
}

/** What happened, as the `type` of an event says. @public */
export type LockEventType = LockEvent['type'];

/** Receives events. Its errors never reach a caller. @public */
export type LockEventListener = (event: LockEvent) => void;

/** The call that an event concerns; the same object in all events of one call and key. @internal */
export interface EventSubject {
  readonly key: string;
  readonly options: { readonly kind: string };
}

/** Receives events with their call. @internal */
export type LockEventWatcher = (event: LockEvent, subject: EventSubject | undefined) => void;

/** One call of `listen()` or `watch()`; a listener may be registered several times. */
interface Registration {
  readonly listener: LockEventWatcher;
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
  'disconnected',
  'reconnected',
];

/** See `lockChannels.state`. @internal */
export const stateChannel = channel('nestjs-distribute-lock:state');

/** The tracing channels report these. */
const OF_CALLS: readonly LockEventType[] = ['acquired', 'contended', 'refused', 'released'];

/**
 * Notifies listeners of lock events. An error in a listener never reaches a caller.
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
  private readonly registrations = new Map<LockEventType, Set<Registration>>();

  /** Whether the type has a listener; without one, hot paths do not create the event. @internal */
  observes(type: LockEventType): boolean {
    return this.registrations.has(type);
  }

  /**
   * Calls `listener` for every event of these types, or of all types when none is given. The listener runs outside the call and the
   * request that caused the event: it holds no lock, and `AsyncLocalStorage` is empty.
   * @returns a function that removes the listener
   */
  listen(listener: LockEventListener, ...types: readonly LockEventType[]): () => void {
    return this.watch((event) => listener(event), ...(types.length === 0 ? TYPES : types));
  }

  /** Like {@link listen}, with the call: for listeners that may know rendered keys. @internal */
  watch(listener: LockEventWatcher, ...wanted: readonly LockEventType[]): () => void {
    const registration = { listener };
    for (const type of wanted) {
      const others = this.registrations.get(type) ?? new Set();
      this.registrations.set(type, others.add(registration));
    }
    return () => wanted.forEach((type) => this.remove(type, registration));
  }

  /** @internal */
  emit(event: LockEvent, subject?: EventSubject): void {
    const registrations = this.registrations.get(event.type);
    if (registrations !== undefined) {
      outside(() => registrations.forEach(({ listener }) => notify(listener, event, subject)));
    }
    if (stateChannel.hasSubscribers && !OF_CALLS.includes(event.type)) stateChannel.publish(event);
  }

  private remove(type: LockEventType, registration: Registration): void {
    const registrations = this.registrations.get(type);
    registrations?.delete(registration);
    if (registrations?.size === 0) this.registrations.delete(type);
  }
}

/** Discards errors and rejections of the listener, because a listener must not affect the call that it observes. */
function notify(listener: LockEventWatcher, event: LockEvent, subject: EventSubject | undefined): void {
  try {
    const result: unknown = listener(event, subject);
    if (result instanceof Promise) result.catch(() => undefined);
  } catch {
    // discarded
  }
}

knownAs('LockEvents', LockEvents);
