import { knownAs } from '../runtime/process-wide.js';

/**
 * What happened to a lock; labelled by the key template, never by the rendered key.
 *
 * `contended` is normal (somebody else has it, or `wait` ran out); `refused` is every other call that ended without a lease.
 * Either comes once for a call, `acquired` and `released` for each of its keys.
 * `degraded` is about no lock: messages cannot be received, so whoever waits asks again and again.
 * @public
 */
export interface LockEvent {
  readonly type: 'acquired' | 'contended' | 'refused' | 'released' | 'lost' | 'release-failed' | 'degraded';
  /** Key template, or the method of `LockService`. */
  readonly label: string;
  /** How long the caller waited for the lock, milliseconds. */
  readonly waitedMs?: number;
  /** How long the lease was held, milliseconds. */
  readonly heldMs?: number;
  /** What went wrong, for all but `acquired` and `released`. */
  readonly error?: Error;
}

/** @public */
export type LockEventType = LockEvent['type'];

/** @public */
export type LockEventListener = (event: LockEvent) => void;

const TYPES: readonly LockEventType[] = [
  'acquired',
  'contended',
  'refused',
  'released',
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
 *   events.listen(({ label, heldMs }) => this.histogram.observe({ lock: label }, heldMs ?? 0), 'released');
 * }
 * ```
 * @public
 */
export class LockEvents {
  private readonly listeners = new Map<LockEventType, Set<LockEventListener>>();

  /** Whether anybody listens to it, so that hot paths can skip making the event. @internal */
  observes(type: LockEventType): boolean {
    return this.listeners.has(type);
  }

  /**
   * Calls `listener` at every event of these types, of all types when none is given.
   * @returns ends the subscription
   */
  listen(listener: LockEventListener, ...types: readonly LockEventType[]): () => void {
    const wanted = types.length === 0 ? TYPES : types;
    for (const type of wanted) {
      const listeners = this.listeners.get(type) ?? new Set();
      this.listeners.set(type, listeners.add(listener));
    }
    return () => wanted.forEach((type) => this.forget(type, listener));
  }

  /** @internal */
  emit(event: LockEvent): void {
    for (const listener of this.listeners.get(event.type) ?? []) {
      try {
        listener(event);
      } catch {
        // An observer must not change what it observes.
      }
    }
  }

  private forget(type: LockEventType, listener: LockEventListener): void {
    const listeners = this.listeners.get(type);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.listeners.delete(type);
  }
}

knownAs('LockEvents', LockEvents);
