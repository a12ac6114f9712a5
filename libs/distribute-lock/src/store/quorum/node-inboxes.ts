import { RESUBSCRIBE_MS } from '../../runtime/retries.js';
import { Alarm, type Timers } from '../../runtime/timers.js';
import { LockStoreError, type LockStoreListener } from '../lock-store.js';
import type { NodeInbox } from './node-connection.js';
import { majorityOf } from './poll.js';

/** Limit for the subscriptions before the first attempt. Without them the lock engine polls. */
const LIMIT_MS = 300;

/**
 * The subscriptions of a process, one per node. A release sends a message on every participating node, which is a
 * majority. A majority of subscriptions therefore receives every release.
 */
export class NodeInboxes {
  /** Inboxes that receive messages. */
  private readonly opened = new Set<NodeInbox>();
  private readonly opening = new Set<NodeInbox>();
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly inboxes: readonly NodeInbox[],
    private readonly timers: Timers,
  ) {}

  /**
   * Resolves when a majority is open and opens the others in the background. Rejects when no majority opens within 300
   * ms.
   */
  open(processId: string, listener: LockStoreListener): Promise<void> {
    for (const inbox of this.inboxes) this.openOne(inbox, processId, listener);
    if (this.enough) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const opened = (): void => {
        this.timers.remove(alarm);
        resolve();
      };
      const alarm = new Alarm(() => {
        this.waiting.delete(opened);
        reject(new LockStoreError('Subscription failed: no majority of the nodes responded in time.', true));
      });
      this.timers.add(alarm, LIMIT_MS);
      this.waiting.add(opened);
    });
  }

  messagesExpected(expected: boolean): void {
    for (const inbox of this.inboxes) inbox.messagesExpected?.(expected);
  }

  messageMissed(): void {
    for (const inbox of this.inboxes) inbox.messageMissed?.();
  }

  close(): void {
    for (const inbox of this.inboxes) inbox.close();
  }

  private get enough(): boolean {
    return this.opened.size >= majorityOf(this.inboxes.length);
  }

  private openOne(inbox: NodeInbox, processId: string, listener: LockStoreListener): void {
    if (this.opened.has(inbox) || this.opening.has(inbox)) return;
    this.opening.add(inbox);
    const opened = (): void => {
      this.opening.delete(inbox);
      this.opened.add(inbox);
      if (!this.enough) return;
      for (const resolve of this.waiting) resolve();
      this.waiting.clear();
    };
    const ofNode: LockStoreListener = {
      message: (message) => listener.message(message),
      unreadable: () => listener.unreadable?.(),
      unsubscribed: (reason) => {
        const wereEnough = this.enough;
        this.opened.delete(inbox);
        if (wereEnough && !this.enough) listener.unsubscribed?.(reason);
      },
      resubscribed: () => {
        opened();
        if (this.enough) listener.resubscribed();
      },
    };
    inbox.open(processId, ofNode).then(opened, () => {
      const retry = new Alarm(() => {
        this.opening.delete(inbox);
        this.openOne(inbox, processId, listener);
      });
      this.timers.add(retry, RESUBSCRIBE_MS);
    });
  }
}
