import type { LockMessage, LockStoreListener } from '../../lock-store.js';
import { ClusterSubscription } from './cluster-subscription.js';
import { COMMAND_LIMIT_MS } from '../link.js';
import { InboxCheck } from './inbox-check.js';
import { isCluster } from '../redis-client.js';
import { ProcessRecords } from './process-records.js';
import type { RedisConnection } from '../redis-connection.js';
import type { RedisKeys } from '../redis-keys.js';
import { ShardSubscriptions } from './shard-subscriptions.js';
import { PrimarySubscription, type Subscriber } from './subscription.js';

const TYPES: Readonly<Record<string, LockMessage['type']>> = { g: 'granted', c: 'contended', v: 'revoked' };

/** What receives the messages of one process. */
interface Received {
  readonly check: InboxCheck;
  /** Channels of single locks, in a large Cluster or where scripts may publish to the slot of their lock only. */
  readonly shards: ShardSubscriptions;
}

/** The subscription of a process and the parser of its messages. */
export class Inbox {
  private readonly received = new Map<string, Received>();
  private expected = false;
  readonly records: ProcessRecords;

  constructor(
    private readonly commands: RedisConnection,
    private readonly keys: RedisKeys,
  ) {
    this.records = new ProcessRecords(commands, keys);
  }

  /** Resolves when messages arrive. The listener receives them from then on, across reconnects. */
  async open(processId: string, listener: LockStoreListener): Promise<void> {
    await this.commands.whenReady(COMMAND_LIMIT_MS);
    const received = this.received.get(processId) ?? this.receive(processId, listener);
    this.received.set(processId, received);
    const { subscription } = received.check;
    subscription.messagesExpected(this.expected);
    await subscription.open();
  }

  messagesExpected(expected: boolean): void {
    this.expected = expected;
    for (const { check, shards } of this.received.values()) {
      check.subscription.messagesExpected(expected);
      shards.messagesExpected(expected);
    }
  }

  messageMissed(): void {
    for (const { check, shards } of this.received.values()) {
      check.messageMissed();
      shards.messageMissed();
    }
  }

  close(): void {
    for (const { check, shards } of this.received.values()) {
      check.close();
      shards.close();
    }
  }

  /** The server has queued the token, or a release queues it, so messages about the lock may come. */
  waitFor(ownerToken: string, lockKey: string): void {
    for (const [processId, { check, shards }] of this.received) {
      if (!ownerToken.startsWith(processId)) continue;
      if (this.commands.sharded) shards.waitFor(lockKey, this.keys.shardChannel(processId, lockKey));
      check.waitFor(lockKey);
    }
  }

  private receive(processId: string, listener: LockStoreListener): Received {
    this.records.keep(processId, listener);
    const { client } = this.commands;
    const { prefix, channels } = this.keys;
    const channel = this.keys.channel(processId);
    const subscriber: Subscriber = {
      message: (text) => {
        const message = parse(text, prefix);
        if (message !== undefined) listener.message(message);
        else if (!this.records.answer(text, processId, listener)) listener.unreadable?.();
      },
      unsubscribed: (reason) => listener.unsubscribed?.(reason),
      resubscribed: () => listener.resubscribed(),
    };
    const inbox = {
      channel,
      shardChannel: (lockKey: string) => this.keys.shardChannel(processId, lockKey),
      rule: `&${channels}`,
    };
    const check = new InboxCheck(this.commands, inbox, subscriber, (by) =>
      isCluster(client)
        ? new ClusterSubscription(client, this.commands, channel, by)
        : new PrimarySubscription(this.commands, channel, by),
    );
    const shards = new ShardSubscriptions(this.commands, (text) => check.message(text));
    shards.messagesExpected(this.expected);
    return { check, shards };
  }
}

/** Parses `<g|c|v> <owner token> <lock key>`; a key may contain spaces. Earlier versions add numbers to the letter, which are ignored. */
function parse(text: string, lockPrefix: string): LockMessage | undefined {
  const [, letter = '', ownerToken = '', lockKey = ''] = /^([a-z])[\dx+]* (\S+) ([\s\S]*)$/.exec(text) ?? [];
  const type = TYPES[letter];
  if (type === undefined || !lockKey.startsWith(lockPrefix)) return undefined;
  return { type, ownerToken, key: lockKey.slice(lockPrefix.length) };
}
