/** Notified when a signal aborts. */
export interface Hearer {
  aborted(): void;
}

/**
 * The only listener of this process on a signal. Callers may share a signal, and Node warns of a leak from the eleventh
 * listener on.
 */
class AbortBell {
  private readonly hearers = new Set<Hearer>();

  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener('abort', this);
  }

  add(hearer: Hearer): void {
    this.hearers.add(hearer);
  }

  remove(hearer: Hearer): void {
    if (!this.hearers.delete(hearer) || this.hearers.size > 0) return;
    this.signal.removeEventListener('abort', this);
    bells.delete(this.signal);
  }

  handleEvent(): void {
    for (const hearer of [...this.hearers]) hearer.aborted();
  }
}

const bells = new WeakMap<AbortSignal, AbortBell>();

/** Calls `hearer.aborted()` when the signal aborts. */
export function hearAbort(signal: AbortSignal, hearer: Hearer): void {
  let bell = bells.get(signal);
  if (bell === undefined) bells.set(signal, (bell = new AbortBell(signal)));
  bell.add(hearer);
}

/** Does nothing if `hearer` is not registered. */
export function ignoreAbort(signal: AbortSignal, hearer: Hearer): void {
  bells.get(signal)?.remove(hearer);
}
