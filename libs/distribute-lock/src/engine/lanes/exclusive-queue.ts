import type { Grant } from '../lease/grant.js';
import { KeyQueue } from '../key-queue.js';
import type { Waiter } from '../waiter.js';

/** The queue of a lock with one holder at a time. */
export class ExclusiveQueue extends KeyQueue {
  grant: Grant | undefined = undefined;

  get lane(): 'exclusive' {
    return 'exclusive';
  }

  /** Whether this process holds the lock at `now`, or waits behind a process that does. */
  isTaken(now: number): boolean {
    if (this.grant !== undefined) return now < this.grant.validUntil;
    return this.lines().some(({ attempt }) => attempt?.seesHolder === true);
  }

  override get ownTtlMs(): number {
    return this.commonTtlMs;
  }

  grants(): readonly Grant[] {
    return this.grant === undefined ? [] : [this.grant];
  }

  grantOf(ownerToken: string): Grant | undefined {
    return this.grant?.ownerToken === ownerToken ? this.grant : undefined;
  }

  drop(grant: Grant): void {
    if (this.grant === grant) this.grant = undefined;
  }

  suffix(): string {
    return '';
  }

  heir(): Waiter | undefined {
    return this.next;
  }
}
