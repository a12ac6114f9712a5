import { Timed, type TimerLanes } from '../runtime/timer-lanes.js';
import type { LockStore, LockStoreListener } from '../store/lock-store.js';

const RESUBSCRIBE_MS = 2_000;

/** Opens the subscription when the first caller wants to wait, and says whether messages can wake anybody. */
export class Mailbox extends Timed {
  /** Messages arrive; without them whoever waits has to poll. */
  open = false;
  private opening: Promise<void> | undefined;
  private asked = false;
  private told = false;

  constructor(
    private readonly store: LockStore,
    private readonly processId: string,
    private readonly lanes: TimerLanes,
    private readonly listener: LockStoreListener,
    /** Is told once for each time that messages cannot be received. */
    private readonly degraded: (error: Error) => void = () => undefined,
  ) {
    super();
  }

  /** @returns undefined when it is settled whether messages arrive; else a promise, never rejected, to wait for first */
  ready(): Promise<void> | undefined {
    if (this.open || (this.asked && this.opening === undefined)) return undefined;
    this.asked = true;
    this.opening ??= this.subscribe();
    return this.opening;
  }

  /** Messages arrive again, or do not. */
  changed(open: boolean): void {
    this.open = open;
  }

  due(): void {
    this.opening ??= this.subscribe();
  }

  private async subscribe(): Promise<void> {
    try {
      this.open = await this.store.subscribe(this.processId, this.listener);
      if (this.open) this.listener.resubscribed();
      this.told = false;
    } catch (error) {
      this.lanes.add(this, RESUBSCRIBE_MS);
      if (!this.told) this.degraded(error instanceof Error ? error : new Error(String(error)));
      this.told = true;
    }
    this.opening = undefined;
  }
}
