import { CLAIM_WINDOW_MS } from '../protocol.js';
import { Sweep } from './sweep.js';

/** The lease of one reader. */
export interface ReaderLease {
  readonly ownerToken: string;
  readonly endsAt: number;
}

/**
 * Leases of readers, and the gates that stop new readers while a writer waits. They apply only while the lock key holds
 * `readers`.
 */
export class ReaderLeases {
  private readonly ends = new Map<string, Map<string, number>>();
  private readonly sweep = new Sweep();
  private readonly gates = new Map<string, number>();

  constructor(private readonly now: () => number) {}

  /** Valid leases in the order of their ends. */
  of(key: string): readonly ReaderLease[] {
    return [...(this.ends.get(key) ?? [])]
      .map(([ownerToken, endsAt]) => ({ ownerToken, endsAt }))
      .filter(({ endsAt }) => endsAt > this.now())
      .sort((a, b) => a.endsAt - b.endsAt || (a.ownerToken < b.ownerToken ? -1 : 1));
  }

  lives(key: string, ownerToken: string): boolean {
    return (this.ends.get(key)?.get(ownerToken) ?? -Infinity) > this.now();
  }

  /** Grants or extends a lease; shortens it only if `exact`. */
  lend(key: string, ownerToken: string, ms: number, exact = false): void {
    if (!this.ends.has(key)) this.ends.set(key, new Map());
    const leases = this.ends.get(key)!;
    leases.set(ownerToken, Math.max((exact ? undefined : leases.get(ownerToken)) ?? -Infinity, this.now() + ms));
    this.sweep.of(this.ends, (each) => this.of(each).length === 0);
  }

  end(key: string, ownerToken: string): void {
    this.ends.get(key)?.delete(ownerToken);
  }

  /** Removes expired leases. Returns the end of the last valid one, or undefined. */
  purge(key: string): number | undefined {
    const living = this.of(key);
    this.ends.set(key, new Map(living.map(({ ownerToken, endsAt }) => [ownerToken, endsAt])));
    if (living.length === 0) this.clear(key);
    return living.at(-1)?.endsAt;
  }

  /** Removes all leases and opens the gate. */
  clear(key: string): void {
    this.ends.delete(key);
    this.openGate(key);
  }

  closeGate(key: string): void {
    this.gates.set(key, this.now() + CLAIM_WINDOW_MS);
  }

  openGate(key: string): void {
    this.gates.delete(key);
  }

  /** Milliseconds until the gate opens; 0 when it is open. */
  gateLeftMs(key: string): number {
    return Math.max(Math.ceil((this.gates.get(key) ?? 0) - this.now()), 0);
  }

  flush(): void {
    this.ends.clear();
    this.gates.clear();
  }
}
