import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import type { LockKind } from '../../../libs/distribute-lock/src/store/lock-store.js';

/** A caller between the grant and its release. */
export interface Guest {
  readonly lease: Lease;
  readonly kind: LockKind;
  readonly weight: number;
}

/** Records all holders of all keys and checks the rules: exclusion, the number of permits, rising fencing tokens. */
export class Inside {
  readonly violations: string[] = [];
  private readonly guests = new Map<string, Set<Guest>>();
  private readonly lastTokens = new Map<string, number>();

  constructor(private readonly permits: number) {}

  enter(guest: Guest): void {
    for (const [key, fencingToken] of guest.lease.fencingTokens) {
      const others = this.guests.get(key) ?? new Set();
      this.guests.set(key, others);
      this.look(key, guest, others);
      others.add(guest);
      if (guest.kind === 'exclusive' || guest.kind === 'write') this.number(key, fencingToken);
    }
  }

  leave(guest: Guest): void {
    for (const key of guest.lease.fencingTokens.keys()) this.guests.get(key)?.delete(guest);
  }

  /** Counts only leases that are held at this moment. */
  private look(key: string, guest: Guest, others: ReadonlySet<Guest>): void {
    const held = [guest, ...others].filter(({ lease }) => lease.isHeld());
    if (!held.includes(guest)) return;
    const weight = held.reduce((sum, each) => sum + each.weight, 0);
    const fits =
      guest.kind === 'semaphore'
        ? weight <= this.permits
        : held.length === 1 || held.every(({ kind }) => kind === 'read');
    if (!fits) this.violations.push(`${key}: ${held.map(({ kind }) => kind).join(', ')} of ${weight} at the same time`);
  }

  private number(key: string, fencingToken: number): void {
    const last = this.lastTokens.get(key) ?? 0;
    if (fencingToken <= last) this.violations.push(`${key}: ${fencingToken} after ${last}`);
    this.lastTokens.set(key, fencingToken);
  }
}
