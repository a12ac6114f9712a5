/** Notified when a signal aborts. */
export interface AbortListener {
  aborted(): void;
}

/**
 * The only listener of this process on a signal. Callers may share a signal, and Node warns of a leak from the eleventh
 * listener on.
 */
class SharedListener {
  private readonly listeners = new Set<AbortListener>();

  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener('abort', this);
  }

  add(listener: AbortListener): void {
    this.listeners.add(listener);
  }

  remove(listener: AbortListener): void {
    if (!this.listeners.delete(listener) || this.listeners.size > 0) return;
    this.signal.removeEventListener('abort', this);
    bySignal.delete(this.signal);
  }

  handleEvent(): void {
    for (const listener of [...this.listeners]) listener.aborted();
  }
}

const bySignal = new WeakMap<AbortSignal, SharedListener>();

/** Calls `listener.aborted()` when the signal aborts. */
export function addAbortListener(signal: AbortSignal, listener: AbortListener): void {
  let one = bySignal.get(signal);
  if (one === undefined) bySignal.set(signal, (one = new SharedListener(signal)));
  one.add(listener);
}

/** Does nothing if the listener is not registered. */
export function removeAbortListener(signal: AbortSignal, listener: AbortListener): void {
  bySignal.get(signal)?.remove(listener);
}
