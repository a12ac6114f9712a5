import { CLAIM_WINDOW_MS } from '../protocol.js';
import { Sweep } from './sweep.js';

/** The lease of one reader. */
export interface ReaderLease {
  readonly ownerToken: string;
  readonly endsAt: number;
}

/** Leases of readers, and the gates that keep new ones out while a writer waits. They count while the lock says `readers`. */
export class ReaderLeases {
  private readonly ends = new Map<string, Map<string, number>>();
  private readonly sweep = new Sweep();
  private readonly gates = new Map<string, number>();

  constructor(private readonly now: () => number) {}

  /** Those that live, the first to end first. */
  of(key: string): readonly ReaderLease[] {
    return [...(this.ends.get(key) ?? [])]
      .map(([ownerToken, endsAt]) => ({ ownerToken, endsAt }))
      .filter(({ endsAt }) => endsAt > this.now())
      .sort((a, b) => a.endsAt - b.endsAt || (a.ownerToken < b.ownerToken ? -1 : 1));
  }

  lives(key: string, ownerToken: string): boolean {
    return (this.ends.get(key)?.get(ownerToken) ?? -Infinity) > this.now();
  }

  /** Never shortens a lease, unless it is `exact`. */
  lend(key: string, ownerToken: string, ms: number, exact = false): void {
    if (!this.ends.has(key)) this.ends.set(key, new Map());
    const leases = this.ends.get(key)!;
    leases.set(ownerToken, Math.max((exact ? undefined : leases.get(ownerToken)) ?? -Infinity, this.now() + ms));
    this.sweep.of(this.ends, (each) => this.of(each).length === 0);
  }

  end(key: string, ownerToken: string): void {
    this.ends.get(key)?.delete(ownerToken);
  }

  /** Takes out what is over; answers when the last one ends, or nothing. */
  purge(key: string): number | undefined {
    const living = this.of(key);
    this.ends.set(key, new Map(living.map(({ ownerToken, endsAt }) => [ownerToken, endsAt])));
    if (living.length === 0) this.clear(key);
    return living.at(-1)?.endsAt;
  }

  /** No leases, and the gate stands open. */
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

  /** How long the gate stays closed; 0 when it stands open. */
  gateLeftMs(key: string): number {
    return Math.max(Math.ceil((this.gates.get(key) ?? 0) - this.now()), 0);
  }

  flush(): void {
    this.ends.clear();
    this.gates.clear();
  }
}
