import type { LockMessage, LockStoreListener } from '../lock-store.js';
import { ClusterSubscription } from './cluster-subscription.js';
import { COMMAND_LIMIT_MS } from './link.js';
import { isCluster } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';
import { ShardSubscriptions } from './shard-subscriptions.js';
import { PrimarySubscription, type Subscriber, type Subscription } from './subscription.js';

const TYPES: Readonly<Record<string, LockMessage['type']>> = { g: 'granted', c: 'contended', v: 'revoked' };

/** The subscription of a process and the parser of its messages. */
export class Inbox {
  private readonly subscriptions = new Map<string, Subscription>();
  /** Sharded channels by process, in a large Cluster. */
  private readonly shards = new Map<string, ShardSubscriptions>();
  private expected = false;

  constructor(
    private readonly commands: RedisConnection,
    private readonly keys: RedisKeys,
  ) {}

  /** Resolves when messages arrive. The listener receives them from then on, across reconnects. */
  async open(processId: string, listener: LockStoreListener): Promise<void> {
    await this.commands.whenReady(COMMAND_LIMIT_MS);
    const subscription = this.subscriptions.get(processId) ?? this.choose(processId, listener);
    this.subscriptions.set(processId, subscription);
    subscription.messagesExpected(this.expected);
    await subscription.open();
  }

  messagesExpected(expected: boolean): void {
    this.expected = expected;
    for (const subscription of this.subscriptions.values()) subscription.messagesExpected(expected);
    for (const shards of this.shards.values()) shards.messagesExpected(expected);
  }

  messageMissed(): void {
    for (const subscription of this.subscriptions.values()) subscription.messageMissed();
    for (const shards of this.shards.values()) shards.messageMissed();
  }

  close(): void {
    for (const subscription of this.subscriptions.values()) subscription.close();
    for (const shards of this.shards.values()) shards.close();
  }

  /** A caller waits for the lock, so messages about it may come. */
  private waitFor(ownerToken: string, lockKey: string): void {
    if (!this.commands.sharded) return;
    for (const [processId, shards] of this.shards) {
      if (ownerToken.startsWith(processId)) shards.waitFor(lockKey, this.keys.shardChannel(processId, lockKey));
    }
  }

  private choose(processId: string, listener: LockStoreListener): Subscription {
    const { client } = this.commands;
    const { prefix } = this.keys;
    const channel = this.keys.channel(processId);
    const subscriber: Subscriber = {
      message: (text) => {
        const message = parse(text, prefix);
        if (message === undefined) listener.unreadable?.();
        else listener.message(message);
      },
      unsubscribed: () => listener.unsubscribed?.(),
      resubscribed: () => listener.resubscribed(),
    };
    if (!isCluster(client)) return new PrimarySubscription(this.commands, channel, subscriber);
    this.commands.waits = (ownerToken, lockKey) => this.waitFor(ownerToken, lockKey);
    const shards = new ShardSubscriptions(this.commands, (text) => subscriber.message(text));
    shards.messagesExpected(this.expected);
    this.shards.set(processId, shards);
    return new ClusterSubscription(client, this.commands, channel, subscriber);
  }
}

/** Parses `<g|c|v> <owner token> <lock key>`; a key may contain spaces. Earlier versions add numbers to the letter, which are ignored. */
function parse(text: string, lockPrefix: string): LockMessage | undefined {
  const [, letter = '', ownerToken = '', lockKey = ''] = /^([a-z])[\dx+]* (\S+) ([\s\S]*)$/.exec(text) ?? [];
  const type = TYPES[letter];
  if (type === undefined || !lockKey.startsWith(lockPrefix)) return undefined;
  return { type, ownerToken, key: lockKey.slice(lockPrefix.length) };
}
