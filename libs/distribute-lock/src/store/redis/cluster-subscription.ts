import type { Cluster, Redis } from 'ioredis';

import type { CancelTimer, Clock } from '../../runtime/clock.js';
import { LockStoreError } from '../lock-store.js';
import { COMMAND_LIMIT_MS } from './command-batch.js';
import { expectMoreErrors } from './redis-client.js';
import { storeError } from './redis-errors.js';
import type { Subscriber, Subscription } from './subscription.js';

/** Between tries to find a node that takes the subscription. */
const RETRY_MS = 250;

/**
 * On one node of a Cluster, which passes on what is published at any other. It is a connection of its own, also where the
 * client could subscribe by itself, because that moves to another node without a word: messages are lost meanwhile, so
 * whoever waits has to know.
 */
export class ClusterSubscription implements Subscription {
  private redis: Redis | undefined;
  private cancelRetry: CancelTimer | undefined;
  private closed = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly channel: string,
    private readonly subscriber: Subscriber,
    private readonly clock: Clock,
  ) {}

  async open(): Promise<void> {
    let last: unknown = new LockStoreError('No node of the Cluster is known yet.', true);
    for (const node of shuffled(this.cluster.nodes())) {
      try {
        return await this.openOn(node);
      } catch (error) {
        last = error;
      }
    }
    throw storeError(last);
  }

  close(): void {
    this.closed = true;
    this.cancelRetry?.();
    this.redis?.disconnect();
  }

  private async openOn(node: Redis): Promise<void> {
    const redis = node.duplicate({ lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    let trouble: Error | undefined;
    redis.on('error', (error: Error) => {
      trouble ??= error; // what was asked of it says less
      expectMoreErrors(redis);
    });
    redis.on('message', (_: string, text: string) => this.subscriber.message(text));
    const cancel = this.clock.after(COMMAND_LIMIT_MS, () => redis.disconnect());
    try {
      await redis.connect();
      await redis.subscribe(this.channel);
    } catch (error) {
      redis.disconnect();
      throw trouble ?? error;
    } finally {
      cancel();
    }
    if (this.closed) return redis.disconnect();
    this.redis = redis;
    redis.once('end', () => this.moved());
    if (redis.status === 'end') this.moved();
  }

  /** The node is gone, or its connection: another one takes its place. */
  private moved(): void {
    if (this.closed) return;
    this.open().then(
      () => this.subscriber.resubscribed(),
      () => (this.cancelRetry = this.clock.after(RETRY_MS, () => this.moved())),
    );
  }
}

function shuffled<T>(all: readonly T[]): T[] {
  const from = Math.floor(Math.random() * all.length);
  return [...all.slice(from), ...all.slice(0, from)];
}
