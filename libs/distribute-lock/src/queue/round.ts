import type { Lease } from '../lease/lease.js';
import { hearAbort, ignoreAbort, type Hearer } from './abort-bell.js';

/** One attempt to take several keys: it ends when the caller's signal aborts, or when one of the keys that it has is lost. */
export class Round {
  lost = false;
  private readonly controller = new AbortController();
  private readonly heard: (() => void)[] = [];

  constructor(given: AbortSignal | undefined) {
    if (given !== undefined) this.hear(given, () => this.controller.abort(given.reason));
  }

  get signal(): AbortSignal {
    return this.controller.signal;
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
