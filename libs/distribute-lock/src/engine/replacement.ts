import type { Grant } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import type { Loss } from './lease/loss.js';
import { Retry } from '../runtime/retries.js';
import { finalUndoAt } from '../store/abandoned-tokens.js';
import { isLost, LockStoreError, lossOfAnswer, mayTakeEffect, type RenewAnswer } from '../store/lock-store.js';
import type { EngineContext } from './context.js';

/**
 * Replaces the owner token of a held grant by one command that may be sent again. Until the answer arrives the grant is neither
 * renewed nor released, but its lease can still end.
 */
export abstract class Replacement extends Retry {
  protected readonly grant: Grant;
  /** See `Attempt.finalUndoAt`. */
  protected finalUndoAt = 0;
  /** The longest ttl of a command. */
  protected longestMs = 0;
  /** A command was sent, or may have been. */
  private sent = false;
  private settle: { resolve: () => void; reject: (error: unknown) => void } | undefined;

  /**
   * @param to - the token that continues the lease
   * @param change - the change, as a word for errors
   */
  constructor(
    protected readonly context: EngineContext,
    protected readonly lease: LeaseHandle,
    protected readonly to: string,
    private readonly change: string,
  ) {
    super();
    this.grant = lease.grant;
  }

  /** The ttl that the next command requests. */
  protected abstract get wantedMs(): number;
  /** Sends the command. Never rejects. */
  protected abstract send(ttlMs: number): Promise<RenewAnswer>;
  /** The store has replaced the token. */
  protected abstract replaced(waiting: number, sentAt: number, ttlMs: number): void;
  /** The lease did not get the new token, or the process cannot prove that it did. */
  protected abstract notReplaced(sent: boolean): void;
  /** The error when the store failed. */
  protected abstract failure(error: Error): Error;

  run(): Promise<void> {
    this.lease.replacing = this.grant;
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      this.due();
    });
  }

  due(): void {
    const ttlMs = this.wantedMs;
    // A lease that was released, or whose `maxHold` has passed, keeps its token until its release.
    if (this.grant.ended || this.lease.ended) return this.lost();
    const sentAt = this.context.clock.now();
    this.longestMs = Math.max(this.longestMs, ttlMs);
    void this.send(ttlMs).then((answer) => this.answered(answer, sentAt, ttlMs));
  }

  override forgotten(): void {
    const error = new LockStoreError('it was closed before it answered.', false);
    if (!this.sent) return this.refused(error);
    this.settle?.reject(this.failure(error));
    this.unproven('shutdown', `the application has shut down before Redis confirmed its ${this.change}`);
  }

  private answered(answer: RenewAnswer, sentAt: number, ttlMs: number): void {
    if (answer instanceof Error) return this.failed(answer);
    const { clock, watchdog } = this.context;
    this.sent = true;
    if (isLost(answer)) watchdog.lose(this.grant, lossOfAnswer(answer));
    else if (clock.now() >= this.grant.validUntil) watchdog.expire(this.grant);
    if (this.grant.ended || isLost(answer)) return this.lost();
    this.replaced(answer, sentAt, ttlMs);
    const { reason } = this.lease.signal;
    if (reason === undefined) this.settle?.resolve();
    else this.settle?.reject(reason);
  }

  private failed(error: Error): void {
    const { clock, timers } = this.context;
    const hasUnanswered = this.sent;
    if (mayTakeEffect(error)) {
      this.sent = true;
      this.finalUndoAt = finalUndoAt(clock.now());
    }
    if (error instanceof LockStoreError && error.passing) {
      timers.add(this, Math.min(this.nextDelayMs(), Math.max(0, this.grant.validUntil - clock.now())));
    } else if (hasUnanswered) this.rejected();
    else if (this.sent) this.verify(error);
    else this.refused(error);
  }

  private rejected(): void {
    this.unproven('outage', `Redis rejected its ${this.change}, but may execute an earlier attempt that had no reply`);
  }

  /** The server replied with an error to the only command, which may have replaced the token before. A renewal shows it. */
  private verify(error: Error): void {
    const { store, clock, watchdog } = this.context;
    const { key, ownerToken, kind, ttlMs } = this.grant;
    const sentAt = clock.now();
    const request = { key, ownerToken, kind, ttlMs };
    void store.renew([request]).then(
      ([answer]) => {
        if (typeof answer !== 'number' || clock.now() >= this.grant.validUntil) return this.rejected();
        this.sent = false;
        this.refused(error);
        watchdog.confirm(this.grant, sentAt, ttlMs);
      },
      () => this.rejected(),
    );
  }

  /** An earlier command has no answer, so the store may have replaced the token, or may still do so. */
  private unproven(reason: Loss['reason'], why: string): void {
    this.context.watchdog.lose(this.grant, { reason, why });
    this.lost();
  }

  /** The server rejected the command. The lease is unchanged, and its renewal may be overdue. */
  private refused(error: Error): void {
    this.lease.replacing = undefined;
    this.notReplaced(this.sent);
    this.context.watchdog.watch(this.grant);
    this.settle?.reject(this.failure(error));
  }

  private lost(): void {
    this.notReplaced(this.sent);
    this.settle?.reject(
      this.lease.signal.reason ?? this.lease.lostError(`it was released before its ${this.change}`, 'released'),
    );
  }
}
