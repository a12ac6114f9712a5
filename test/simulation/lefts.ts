import type { Hold } from './hold.js';
import { isCalm } from './plan.js';
import type { World } from './world.js';

/** The server keeps ends in whole milliseconds. */
const SERVER_MS = 1;

/** What ends with its ttl: of whom it was, and when it ends at the earliest. */
interface Left {
  readonly ownerToken: string;
  readonly until: number;
  readonly weight: number;
  readonly reads: boolean;
}

/** Watches keys and permits that are left to their ttl: nobody gets them earlier. */
export class Lefts {
  private readonly byKey = new Map<string, readonly Left[]>();

  constructor(private readonly world: World) {}

  /** Its ttl began when it was asked for at the earliest. */
  add({ lease, ownerToken, process, question, reads }: Hold): void {
    // The lease that readers share is kept by their process, which may not be there any more.
    if (reads && !isCalm(this.world.plan)) return;
    // It may have been asked for in the name of a holder before.
    const { startedAt } = lease.grant.passes === 1 ? lease.grant : lease;
    const { ttlMs, weight } = question.options;
    const until = process.realMs(startedAt - process.plan.offset) + ttlMs - SERVER_MS;
    this.byKey.set(lease.key, [...this.standing(lease.key), { ownerToken, until, weight, reads }]);
  }

  /** Beside what is left there must be room for a new hold. */
  check({ lease, ownerToken, question, reads: isReader }: Hold): void {
    const { kind, permits, weight } = question.options;
    const lefts = this.standing(lease.key).filter(({ reads }) => !reads || !isReader);
    const taken = lefts.reduce((sum, left) => sum + left.weight, 0);
    const room = kind === 'semaphore' ? permits - weight : 0;
    if (taken > room && !this.world.server.forgotten.has(ownerToken))
      this.world.fail('a lock was given away before its ttl had passed', question.label);
  }

  private standing(key: string): readonly Left[] {
    const { timeline, server } = this.world;
    return (this.byKey.get(key) ?? []).filter(
      ({ until, ownerToken }) => timeline.now < until && !server.forgotten.has(ownerToken),
    );
  }
}
