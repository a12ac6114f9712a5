/**
 * What happened to a lock; labelled by the key template, never by the rendered key.
 *
 * `contended` is normal (somebody else has it, or `wait` ran out); `refused` is every other call that ended without a lease.
 * @public
 */
export interface LockEvent {
  readonly type: 'acquired' | 'contended' | 'refused' | 'released' | 'lost' | 'release-failed';
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
export type LockEventListener = (event: LockEvent) => void;

/** Tells observers what happened; a listener's throw never reaches a caller. @internal */
export class LockEvents {
  private readonly listeners = new Set<LockEventListener>();

  /** Whether anybody listens, so that hot paths can skip making the event. */
  get observed(): boolean {
    return this.listeners.size > 0;
  }

  /** @returns ends the subscription */
  listen(listener: LockEventListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  emit(event: LockEvent): void {
    for (const listener of this.listeners) {
      try {
        listener(event);
      } catch {
        // An observer must not change what it observes.
      }
    }
  }
}
