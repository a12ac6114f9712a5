import type { Duration } from '../../options/values.js';
import { LeaseHandle, notDetachable } from './lease-handle.js';
import { type DetachOptions, Lease } from './lease.js';

/** One lease for several keys. It is lost when one key is lost; the other keys stay held until `release()`. */
export class MultiKeyLease extends Lease {
  readonly keys: readonly string[];
  readonly fencingTokens: ReadonlyMap<string, number>;
  readonly fencingToken: number;
  private readonly controller = new AbortController();
  private released: Promise<void> | undefined;
  left = false;

  /** @param parts - the leases of the keys, in key order, all held */
  constructor(readonly parts: readonly Lease[]) {
    super();
    this.keys = parts.map(({ key }) => key);
    this.fencingTokens = new Map(parts.map(({ key, fencingToken }) => [key, fencingToken]));
    this.fencingToken = Math.max(...this.fencingTokens.values());
    for (const { signal } of parts) {
      signal.addEventListener('abort', () => this.controller.abort(signal.reason), { once: true });
    }
  }

  get key(): string {
    return this.keys[0];
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  isHeld(): boolean {
    return this.released === undefined && this.parts.every((part) => part.isHeld());
  }

  remainingMs(): number {
    return this.isHeld() ? Math.min(...this.parts.map((part) => part.remainingMs())) : 0;
  }

  async extend(ttl?: Duration): Promise<void> {
    await Promise.all(this.changed.map((part) => part.extend(ttl)));
  }

  async downgrade(): Promise<void> {
    const parts = this.changed;
    // An outer call holds one of the keys, so its part refuses.
    for (const part of parts) if (!(part instanceof LeaseHandle)) await part.downgrade();
    await LeaseHandle.downgradeAll(parts.filter((part) => part instanceof LeaseHandle));
  }

  async detach(options: DetachOptions): Promise<string> {
    const handles = this.parts.filter((part) => part instanceof LeaseHandle);
    if (handles.length < this.parts.length)
      throw notDetachable(
        handles[0]?.call ?? { name: this.key, key: this.key },
        'the outer call holds one of its keys',
      );
    const ticket = await LeaseHandle.detachAll(handles, options);
    this.left = true;
    this.released ??= Promise.resolve();
    return ticket;
  }

  release(): Promise<void> {
    this.left = true;
    return (this.released ??= releaseAll(this.parts));
  }

  /** The leases to change: all, or only one that is no longer held, which rejects with the reason. */
  private get changed(): readonly Lease[] {
    const ended = this.parts.find((part) => !part.isHeld());
    return ended === undefined ? this.parts : [ended];
  }
}

/** Releases in reverse order of acquisition. */
export async function releaseAll(parts: readonly Lease[]): Promise<void> {
  await Promise.all(parts.toReversed().map((part) => part.release()));
}
