import type { Hold } from './hold.js';
import { isCalm } from './plan.js';
import type { World } from './world.js';

/** The server stores ends in whole milliseconds. */
const SERVER_MS = 1;

/** A lease that is left to its ttl: its owner and its earliest end. */
interface Left {
  readonly ownerToken: string;
  readonly until: number;
  readonly weight: number;
  readonly reads: boolean;
}

/** Watches keys and permits that are left to their ttl: they are not granted earlier. */
export class Lefts {
  private readonly byKey = new Map<string, readonly Left[]>();

  constructor(private readonly world: World) {}

  /** The ttl starts with the attempt at the earliest. */
  add({ lease, ownerToken, process, pendingCall, reads }: Hold): void {
    // Readers of a process share a lease that the process keeps; the process may have ended.
    if (reads && !isCalm(this.world.plan)) return;
    // An earlier holder of the process may have requested the grant.
    const { startedAt } = lease.grant.passes === 1 ? lease.grant : lease;
    const { ttlMs, weight } = pendingCall.options;
    const until = process.realMs(startedAt - process.plan.offset) + ttlMs - SERVER_MS;
    this.byKey.set(lease.key, [...this.standing(lease.key), { ownerToken, until, weight, reads }]);
  }

  /** The remaining leases must leave room for a new hold. */
  check({ lease, ownerToken, pendingCall, reads: isReader }: Hold): void {
    const { kind, weight } = pendingCall.options;
    const lefts = this.standing(lease.key).filter(({ reads }) => !reads || !isReader);
    const taken = lefts.reduce((sum, left) => sum + left.weight, 0);
    const room = kind === 'semaphore' ? this.world.ledger.capacity(lease.key) - weight : 0;
    if (taken > room && !this.world.server.forgotten.has(ownerToken))
      this.world.fail('a lock was granted to another caller before its ttl had passed', pendingCall.label);
  }

  private standing(key: string): readonly Left[] {
    const { timeline, server } = this.world;
    return (this.byKey.get(key) ?? []).filter(
      ({ until, ownerToken }) => timeline.now < until && !server.forgotten.has(ownerToken),
    );
  }
}
