import type { Grant } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import { type Waiter, WaitList } from './key-state.js';
import type { Kind } from './kind.js';
import { refuseContended, start } from './settling.js';
import { SingleGrantState } from './single-grant-state.js';

/** The exclusive lock, which is also the write lock: one holder at a time. */
export const exclusive: Kind = {
  name: 'exclusive',
  options: ['exclusive', 'write'],
  nestsIn: ['exclusive'],
  newState: (services, key) => new ExclusiveState(services, key),
};

export class ExclusiveState extends SingleGrantState {
  get kind(): 'exclusive' {
    return 'exclusive';
  }

  enter(waiter: Waiter): void {
    const { context, acquiring } = this.services;
    const { steal, options } = waiter.call;
    if (!steal && !waiter.waits && this.isTaken(context.clock.now())) return refuseContended(context, this, waiter);
    const list = steal || options.fair === 'strict' ? new WaitList(this, true) : this.list;
    list.push(waiter);
    if (list.attempt === undefined && (list.single || this.grant === undefined)) {
      acquiring.attempts.sendFor(list, waiter.since);
    }
    // A waiter behind a holder of this process must learn when another process waits.
    else if (list.waits) void context.inbox.ready();
    this.hurryFor(waiter, list);
  }

  granted(list: WaitList, grant: Grant, now: number): void {
    const { context, acquiring } = this.services;
    const before = this.grant;
    this.grant = grant;
    // The store granted another token of this process, so it has lost the previous grant, or the caller takes it away.
    const reason = list.first!.call.steal ? 'forced' : 'deleted';
    // Its time may have passed in a pause, before its timer fired.
    if (before !== undefined && !context.watchdog.isOver(before, now)) context.watchdog.lose(before, { reason });
    this.serve(list.first!, grant, now);
    grant.forgetSpentBlock();
    if (list.patient === list.size) return;
    const leftMs = Math.max(0, grant.validUntil - now);
    acquiring.wakeUps.wake({ reason: 'contended', list, leftMs, state: this });
  }

  serve(waiter: Waiter, grant: Grant, now: number): void {
    start(this.services.context, this.services.leases, waiter, grant, now);
  }

  leaseEnded(lease: LeaseHandle, now: number): Promise<void> | undefined {
    return this.services.releasing.handOver(this, lease, now);
  }

  /** Whether this process holds the lock at `now`, or waits behind a process that does. */
  private isTaken(now: number): boolean {
    if (this.grant !== undefined) return now < this.grant.validUntil;
    // Of the strict callers, only the attempt that was queued first is sent again, so the answers to the others may be old.
    return [this.sharedList?.attempt, this.longestQueued].some(
      (attempt) => attempt?.seesHolder === true && this.troubleOf(attempt.list) === undefined,
    );
  }

  override get ownTtlMs(): number {
    return this.commonTtlMs;
  }

  suffix(): string {
    return '';
  }

  nextHolder(): Waiter | undefined {
    return this.next;
  }
}
