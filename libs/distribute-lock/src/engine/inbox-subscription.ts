import type { Clock } from '../runtime/clock.js';
import { RESUBSCRIBE_MS } from '../runtime/retries.js';
import { Timer, type Timers } from '../runtime/timers.js';
import { type LockStore, LockStoreError, type LockStoreListener } from '../store/lock-store.js';

/** Opens the subscription when the first caller waits, and knows whether messages arrive. */
export class InboxSubscription extends Timer {
  /** Whether messages arrive; without them waiting callers poll. */
  open = false;
  /** Since when messages arrive; earlier ones may have been missed. */
  private openSince = Infinity;
  private opening: Promise<void> | undefined;
  private requested = false;
  private reported = false;
  private failing = false;
  private closed = false;

  constructor(
    private readonly store: LockStore,
    private readonly processId: string,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly messages: () => LockStoreListener,
    /** Called once for each period without messages. */
    private readonly degraded: (error: Error) => void = () => undefined,
    /** Called after each change of `open`. */
    private readonly available: (open: boolean) => void = () => undefined,
    /** Whether the connection to a server is lost, which is reported by itself. */
    private readonly serverIsAway: () => boolean = () => false,
  ) {
    super();
  }

  /** @returns undefined if it is known whether messages arrive; otherwise a promise to await first, which never rejects */
  ready(): Promise<void> | undefined {
    if (this.open || (this.requested && this.opening === undefined)) return undefined;
    this.requested = true;
    this.opening ??= this.subscribe();
    return this.opening;
  }

  /** The subscription was restored or lost; with a reason if an operator must act. */
  changed(open: boolean, reason?: Error): void {
    if (open !== this.open) this.available(open);
    this.open = open;
    this.openSince = open ? this.clock.now() : Infinity;
    if (open) this.reported = this.failing = false;
    if (reason !== undefined) this.report(reason);
  }

  /**
   * Whether a message has announced each process that waits for a lock since `since`, when the store was last asked. Without
   * messages, other processes may wait unannounced.
   */
  announcesSince(since: number): boolean {
    return since >= this.openSince;
  }

  due(): void {
    this.opening ??= this.subscribe();
  }

  /** The callers have ended, so a lack of messages changes nothing. */
  close(): void {
    this.closed = true;
  }

  private async subscribe(): Promise<void> {
    try {
      this.changed(await this.store.subscribe(this.processId, this.messages()));
      if (this.open) this.messages().resubscribed();
    } catch (error) {
      this.timers.add(this, RESUBSCRIBE_MS);
      if (!this.failing) this.available(false);
      this.failing = true;
      if (!(error instanceof LockStoreError && !error.sent && this.serverIsAway())) this.report(error as Error);
    }
    this.opening = undefined;
  }

  private report(error: Error): void {
    if (!this.reported && !this.closed) this.degraded(error);
    this.reported = true;
  }
}
