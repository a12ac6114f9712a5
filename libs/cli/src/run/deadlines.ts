import type { Lease } from 'nestjs-distribute-lock/core';

import { monotonicMs } from '../monotonic.js';
import type { CommandProcess } from './command-process.js';
import type { Guard } from './guard.js';
import type { RunTimes } from './times.js';

/** Why the command was ended. */
export type EndReason = 'lease' | 'max-hold' | 'guard';

/** The command is ended within a second of the end of its guard. */
const WITHOUT_GUARD_MS = 500;
const MOST_TICK_MS = 500;
const TICKS_PER_RENEWAL = 8;
/** The first renewals of a short lease. */
const LEAST_TICK_MS = 20;

/**
 * Renews the lease and moves the deadlines of the command after each confirmed renewal, here and in the guard. Both send TERM and
 * KILL when their deadline has passed, because either of them may be stopped.
 */
export class Deadlines {
  private readonly holdEndsAt: number;
  private leaseEndsAt = -Infinity;
  private renewing = false;
  private renewAt: number;
  private interval: NodeJS.Timeout | undefined;
  private timer: NodeJS.Timeout | undefined;
  private killBy = Infinity;
  private killed = false;
  /** Set once the command is being ended. */
  reason: EndReason | undefined;

  constructor(
    private readonly lease: Lease,
    private readonly guard: Guard,
    private readonly times: RunTimes,
    /** With `--on-lost warn` the end of the lease does not end the command. */
    private readonly warnsOnly: boolean,
    private readonly report: (reason: EndReason) => void,
  ) {
    const now = monotonicMs();
    this.holdEndsAt = now + times.maxHoldMs;
    this.renewAt = now + times.renewEveryMs;
  }

  /**
   * The lease may have begun some time before it was granted. Renews it when less is left than between two renewals.
   * @throws LockError when Redis does not confirm the renewal
   */
  async begin(): Promise<void> {
    const { ttlMs, renewEveryMs } = this.times;
    if (this.lease.remainingMs() < ttlMs - renewEveryMs) await this.lease.extend(ttlMs);
    this.tell();
  }

  /** Watches over the command until `stop()`. */
  watch(command: CommandProcess): void {
    const everyMs = Math.min(MOST_TICK_MS, Math.max(LEAST_TICK_MS, this.times.renewEveryMs / TICKS_PER_RENEWAL));
    this.interval = setInterval(() => this.tick(command), everyMs);
    this.lease.signal.addEventListener('abort', () => this.leaseLost(command), { once: true });
    if (this.lease.signal.aborted) this.leaseLost(command);
    this.arm(command);
  }

  stop(): void {
    clearInterval(this.interval);
    clearTimeout(this.timer);
    this.guard.done();
  }

  /** Ends the command: TERM now, and KILL within `withinMs`. */
  end(command: CommandProcess, reason: EndReason, withinMs: number): void {
    if (this.reason === undefined) {
      this.reason = reason;
      this.report(reason);
      command.sendToAll('SIGTERM');
      this.guard.termed();
    }
    this.killBy = Math.min(this.killBy, monotonicMs() + withinMs);
    this.arm(command);
  }

  guardEnded(command: CommandProcess): void {
    this.end(command, 'guard', Math.min(WITHOUT_GUARD_MS, this.times.killAfterMs));
  }

  private leaseLost(command: CommandProcess): void {
    if (!this.warnsOnly) this.end(command, 'lease', this.times.killAfterMs);
    else if (this.reason === undefined) this.report('lease');
  }

  private get killAt(): number {
    const { killAfterMs, marginMs } = this.times;
    const ofLease = this.warnsOnly ? Infinity : this.leaseEndsAt - marginMs;
    return Math.min(ofLease, this.holdEndsAt + killAfterMs, this.killBy);
  }

  private get termAt(): number {
    const { killAfterMs, marginMs } = this.times;
    const ofLease = this.warnsOnly ? Infinity : this.leaseEndsAt - marginMs - killAfterMs;
    return Math.min(ofLease, this.holdEndsAt);
  }

  private tick(command: CommandProcess): void {
    this.renew();
    if (this.tell()) this.arm(command);
  }

  private renew(): void {
    if (this.renewing || monotonicMs() < this.renewAt || !this.lease.isHeld()) return;
    this.renewing = true;
    this.renewAt = monotonicMs() + this.times.renewEveryMs;
    this.lease
      .extend(this.times.ttlMs)
      .catch(() => undefined) // the library repeats it, and reports a loss
      .finally(() => (this.renewing = false));
  }

  /** Sends the deadlines if a renewal was confirmed. The clock is read first, so that a pause in between shortens them. */
  private tell(): boolean {
    const now = monotonicMs();
    const endsAt = now + this.lease.remainingMs();
    if (endsAt < this.leaseEndsAt + 1) return false;
    this.leaseEndsAt = endsAt;
    this.guard.until(this.termAt, this.killAt);
    return true;
  }

  private arm(command: CommandProcess): void {
    clearTimeout(this.timer);
    const dueAt = this.reason === undefined ? Math.min(this.termAt, this.killAt) : this.killAt;
    if (dueAt === Infinity || this.killed) return;
    const leftMs = Math.min(2 ** 31 - 1, Math.max(0, dueAt - monotonicMs()));
    this.timer = setTimeout(() => this.due(command, dueAt), Math.ceil(leftMs));
  }

  private due(command: CommandProcess, dueAt: number): void {
    const now = monotonicMs();
    if (now < dueAt) return this.arm(command);
    if (now >= this.killAt) {
      this.reason ??= this.holdEndsAt <= now ? 'max-hold' : 'lease';
      this.killed = true;
      return command.sendToAll('SIGKILL');
    }
    this.end(command, this.holdEndsAt <= now ? 'max-hold' : 'lease', this.times.killAfterMs);
  }
}
