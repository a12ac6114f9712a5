import type { Redis } from 'ioredis';

import { RESUBSCRIBE_MS } from '../../../runtime/retries.js';
import { Timer } from '../../../runtime/timers.js';
import { LockStoreError } from '../../lock-store.js';
import { COMMAND_LIMIT_MS, type LinkListener } from '../link.js';
import { another, speaksResp3 } from '../redis-client.js';
import { RedisConnection } from '../redis-connection.js';

/** Receives the messages and the state of a subscription. */
export interface Subscriber {
  message(text: string): void;
  /**
   * No message arrives until {@link resubscribed}.
   * @param reason - present if an operator must act
   */
  unsubscribed(reason?: Error): void;
  /** Messages arrive again; those sent before are lost. */
  resubscribed(): void;
}

/** Subscription to one channel, kept across reconnects. */
export interface Subscription {
  /** Messages arrive, according to the connection. */
  readonly live: boolean;
  /**
   * Resolves when messages arrive. Rejects with a {@link LockStoreError} if the connection is not usable in time or is lost; the next
   * call tries again.
   */
  open(): Promise<void>;
  /** Sets whether waiters depend on messages, so that the connection is probed more often. */
  messagesExpected(expected: boolean): void;
  /** Probes the connection now, because a message did not arrive. */
  messageMissed(): void;
  /** Subscribes again, because messages do not arrive or come from another server. */
  renew(): void;
  close(): void;
}

/** A subscription on one primary. It shares the connection for commands if the server supports RESP3. */
export class PrimarySubscription extends Timer implements Subscription, LinkListener {
  private readonly connection: RedisConnection;
  private readonly onMessage = (channel: string, text: string): void => {
    if (channel !== this.channel) return;
    this.connection.linkOf('')?.received();
    this.subscriber.message(text);
  };
  /** Number of unsettled calls of {@link open}. */
  private opening = 0;
  /** Epoch of the connection on which the server confirmed the subscription. */
  private subscribedOn = -1;
  live = false;
  private expected = false;

  constructor(
    private readonly commands: RedisConnection,
    private readonly channel: string,
    private readonly subscriber: Subscriber,
  ) {
    super();
    const { client, template, clock } = commands;
    this.connection = speaksResp3(client) ? commands : new RedisConnection(another(template), clock, template);
    this.connection.client.on('message', this.onMessage);
    this.connection.observe(this);
  }

  async open(): Promise<void> {
    const { connection } = this;
    this.opening += 1;
    try {
      await connection.whenReady(COMMAND_LIMIT_MS);
      await this.subscribe();
    } finally {
      this.opening -= 1;
    }
  }

  messagesExpected(expected: boolean): void {
    this.expected = expected;
    if (this.live) this.connection.linkOf('')?.watchMessages(expected);
  }

  messageMissed(): void {
    this.connection.linkOf('')?.probe();
  }

  renew(): void {
    const { connection, channel } = this;
    const link = connection.linkOf('')!;
    if (connection !== this.commands) return link.close();
    // The server of the commands has the subscription, and a new connection would lose commands in flight.
    link.track((connection.client as Redis).subscribe(channel)).catch(() => undefined);
  }

  close(): void {
    this.connection.unobserve(this);
    this.connection.timers.remove(this);
    this.connection.client.off('message', this.onMessage);
    if (this.connection !== this.commands) this.connection.close();
  }

  /** @internal */
  usable(): void {
    if (this.subscribedOn === this.connection.epoch) this.setLive(true);
    else if (this.subscribedOn >= 0) this.due();
  }

  /** @internal */
  unusable(): void {
    this.setLive(false);
  }

  /** Subscribes again. While the server rejects the subscription, waiters poll. */
  due(): void {
    this.subscribe().catch(() => {
      // Without a usable link, the next connection subscribes.
      if (this.connection.accepts()) this.connection.timers.add(this, RESUBSCRIBE_MS);
    });
  }

  private async subscribe(): Promise<void> {
    const { connection, channel, expected } = this;
    const { epoch } = connection;
    if (this.subscribedOn === epoch) return;
    const link = connection.linkOf('')!;
    const channels = await link.track((connection.client as Redis).subscribe(channel));
    if (epoch !== connection.epoch)
      throw new LockStoreError('The connection was lost before the subscription was confirmed.', true);
    if (channels !== connection.observers) {
      // The reply belongs to another command, so every later reply on this connection is also wrong.
      link.close();
      throw new LockStoreError('Redis did not confirm the subscription.', true);
    }
    this.subscribedOn = epoch;
    link.watchMessages(expected);
    this.setLive(true);
  }

  private setLive(live: boolean): void {
    if (live === this.live) return;
    this.live = live;
    if (!live) this.subscriber.unsubscribed();
    else if (this.opening === 0) this.subscriber.resubscribed();
  }
}
