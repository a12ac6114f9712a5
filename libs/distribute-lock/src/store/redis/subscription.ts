import type { Redis } from 'ioredis';

import type { Clock } from '../../runtime/clock.js';
import { COMMAND_LIMIT_MS } from './command-batch.js';
import { speaksResp3 } from './redis-client.js';
import { RedisConnection } from './redis-connection.js';

/** Where the messages of a subscription go. */
export interface Subscriber {
  message(text: string): void;
  /** The subscription stands again; what was sent meanwhile is gone. */
  resubscribed(): void;
}

/** One channel, listened to across reconnects. */
export interface Subscription {
  /** Resolves when messages arrive. */
  open(): Promise<void>;
  close(): void;
}

/**
 * On one primary. It shares our own connection where the server speaks RESP3; a client that was given is never subscribed,
 * a duplicate of it is.
 */
export class PrimarySubscription implements Subscription {
  private readonly connection: RedisConnection;
  private readonly onMessage = (channel: string, text: string): void => {
    if (channel === this.channel) this.subscriber.message(text);
  };
  private readonly onReady = (): void => void this.subscribe().then(this.again, () => undefined);
  private readonly again = (): void => this.subscriber.resubscribed();
  private listening = false;

  constructor(
    private readonly commands: RedisConnection,
    private readonly channel: string,
    private readonly subscriber: Subscriber,
    clock: Clock,
  ) {
    const { client, owned } = commands;
    this.connection =
      owned && speaksResp3(client)
        ? commands
        : new RedisConnection((client as Redis).duplicate({ autoResubscribe: false }), true, clock);
  }

  async open(): Promise<void> {
    await this.connection.whenReady(COMMAND_LIMIT_MS);
    await this.subscribe();
    if (this.listening) return;
    this.listening = true;
    this.connection.client.on('message', this.onMessage).on('ready', this.onReady);
  }

  close(): void {
    this.connection.client.off('message', this.onMessage).off('ready', this.onReady);
    if (this.connection !== this.commands) this.connection.close();
  }

  private subscribe(): Promise<unknown> {
    return this.connection.client.subscribe(this.channel);
  }
}
