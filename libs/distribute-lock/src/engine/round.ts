import type { Lease } from './lease/lease.js';
import { Timer } from '../runtime/timers.js';
import { hearAbort, ignoreAbort, type Hearer } from './abort-bell.js';

/** One attempt to take several keys. It ends when the caller's signal aborts, a held key is lost, or its time has passed. */
export class Round extends Timer {
  lost = false;
  late = false;
  /** Resolves when the round is aborted. */
  readonly over: Promise<void>;
  private readonly controller = new AbortController();
  private readonly heard: (() => void)[] = [];

  constructor(given: AbortSignal | undefined) {
    super();
    this.over = new Promise((resolve) => this.signal.addEventListener('abort', () => resolve(), { once: true }));
    if (given !== undefined) this.hear(given, () => this.controller.abort(given.reason));
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  due(): void {
    this.late = true;
    this.controller.abort();
  }

  keep({ signal }: Lease): void {
    this.hear(signal, () => {
      this.lost = true;
      this.controller.abort(signal.reason);
    });
  }

  end(): void {
    for (const ignore of this.heard) ignore();
  }

  private hear(signal: AbortSignal, aborted: () => void): void {
    if (signal.aborted) return aborted();
    const hearer: Hearer = { aborted };
    hearAbort(signal, hearer);
    this.heard.push(() => ignoreAbort(signal, hearer));
  }
}
