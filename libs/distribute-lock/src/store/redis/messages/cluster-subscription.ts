import type { Cluster, Redis } from 'ioredis';

import { Alarm, Deadline } from '../../../runtime/timers.js';
import { LockStoreError } from '../../lock-store.js';
import { COMMAND_LIMIT_MS, type Link } from '../link.js';
import { addressOfMember, nameOf } from '../redis-client.js';
import type { RedisConnection } from '../redis-connection.js';
import { storeError } from '../redis-errors.js';
import { messageLink } from './message-link.js';
import type { Subscriber, Subscription } from './subscription.js';

/** Pause between attempts to subscribe on any node. */
const MOVE_AGAIN_MS = 250;

/**
 * A subscription on one node of a Cluster; all nodes forward published messages to it. The subscription of the client
 * itself moves between nodes without an event, but waiters must know when messages were lost. A separate link detects a
 * node that does not respond, and the subscription moves to another node.
 */
export class ClusterSubscription implements Subscription {
  private link: Link | undefined;
  private readonly retry = new Alarm(() => this.move());
  private expected = false;
  private closed = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly connection: RedisConnection,
    private readonly channel: string,
    private readonly subscriber: Subscriber,
  ) {}

  get live(): boolean {
    return this.link?.accepts === true;
  }

  open(): Promise<void> {
    return this.link === undefined ? this.openAnywhere() : Promise.resolve();
  }

  messagesExpected(expected: boolean): void {
    this.expected = expected;
    this.link?.watchMessages(expected);
  }

  messageMissed(): void {
    this.link?.probe();
  }

  /** The lost connection moves the subscription to another node. */
  renew(): void {
    this.link?.close();
  }

  close(): void {
    this.closed = true;
    this.connection.timers.remove(this.retry);
    this.link?.abandon();
  }

  /** @param last - the node to try last, because its connection was lost */
  private async openAnywhere(last?: string): Promise<void> {
    let trouble = new LockStoreError('The client knows no node of the Cluster yet.', true);
    const nodes = shuffled(this.cluster.nodes());
    for (const node of nodes.toSorted((a, b) => Number(nodeOf(a) === last) - Number(nodeOf(b) === last))) {
      if (this.closed) break;
      try {
        return await this.openOn(node);
      } catch (error) {
        trouble = storeError(error, addressOfMember(nameOf(node)));
      }
    }
    throw trouble;
  }

  private async openOn(node: Redis): Promise<void> {
    const { connection, subscriber } = this;
    const { timers } = connection;
    const link: Link = messageLink(node, connection, 'message', (text) => subscriber.message(text), {
      usable: () => link === this.link && subscriber.resubscribed(),
      unusable: () => link === this.link && subscriber.unsubscribed(),
    });
    const redis = link.client;
    let trouble: Error | undefined;
    redis.on('error', (error: Error) => (trouble ??= error)); // more specific than the error of the command
    // Due also when the timers are closed, because the client would wait for a server that does not respond.
    const alarm = new Deadline(() => link.abandon());
    timers.add(alarm, COMMAND_LIMIT_MS);
    try {
      await redis.connect();
      await link.track(redis.subscribe(this.channel));
      if (redis.status !== 'ready')
        throw new LockStoreError('The connection was lost before the subscription was confirmed.', true);
    } catch (error) {
      link.abandon();
      throw trouble ?? error;
    } finally {
      timers.remove(alarm);
    }
    if (this.closed) return link.abandon();
    this.link = link;
    link.watchMessages(this.expected);
    redis.once('end', () => this.lost(link));
  }

  private lost(link: Link): void {
    link.end();
    if (this.link !== link || this.closed) return;
    this.link = undefined;
    this.subscriber.unsubscribed();
    this.move(nodeOf(link.client));
  }

  private move(last?: string): void {
    if (this.closed) return;
    this.openAnywhere(last).then(
      () => this.subscriber.resubscribed(),
      () => this.connection.timers.add(this.retry, MOVE_AGAIN_MS),
    );
  }
}

const nodeOf = ({ options: { host, port } }: Redis): string => `${host}:${port}`;

function shuffled<T>(all: readonly T[]): T[] {
  const from = Math.floor(Math.random() * all.length);
  return [...all.slice(from), ...all.slice(0, from)];
}
