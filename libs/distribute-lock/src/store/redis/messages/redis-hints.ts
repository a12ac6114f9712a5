import type { LockHints } from '../../lock-store.js';
import { ClusterSubscription } from './cluster-subscription.js';
import { another, isCluster } from '../redis-client.js';
import { RedisConnection } from '../redis-connection.js';
import { PrimarySubscription, type Subscriber, type Subscription } from './subscription.js';

const ignore = (): void => undefined;

/**
 * Hints over pub/sub. The subscription has a separate connection, so hints never delay or drop the messages and commands of
 * locks. Messages are published on the connection of the locks.
 */
export class RedisHints implements LockHints {
  private readonly subscription: Subscription;
  private readonly apart: RedisConnection | undefined;

  constructor(
    private readonly connection: RedisConnection,
    private readonly channel: string,
    receive: (text: string) => void,
  ) {
    const { client, template, clock } = connection;
    const subscriber: Subscriber = { message: receive, unsubscribed: ignore, resubscribed: ignore };
    if (isCluster(client)) {
      this.subscription = new ClusterSubscription(client, connection, channel, subscriber);
    } else {
      this.apart = new RedisConnection(another(template), clock, template);
      this.subscription = new PrimarySubscription(this.apart, channel, subscriber);
    }
  }

  open(): Promise<void> {
    return this.subscription.open();
  }

  publish(text: string): void {
    const { connection, channel } = this;
    if (connection.accepts(channel)) connection.client.publish(channel, text).catch(ignore);
  }

  close(): void {
    this.subscription.close();
    this.apart?.close();
  }
}
