import type { Redis } from 'ioredis';

import { Timer } from '../../runtime/timers.js';
import { Link } from './link.js';
import type { RedisConnection } from './redis-connection.js';

/** A channel stays subscribed for this time after the last attempt of a waiter. */
const IDLE_MS = 30_000;
const SWEEP_MS = 5_000;
/** Locks behind this number use plain messages only. */
const MOST_CHANNELS = 1_000;

const ignore = (): void => undefined;

/** A connection to the master of some slots, and the channels that are subscribed on it. */
class Shard {
  /** When each channel is no longer needed. */
  readonly channels = new Map<string, number>();
  readonly link: Link;
  private readonly redis: Redis;

  constructor(node: Redis, { clock, timers }: RedisConnection, receive: (text: string) => void, ended: () => void) {
    const redis = node.duplicate({ lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    this.redis = redis;
    redis.on('error', ignore);
    this.link = new Link(redis, { clock, timers, listener: {} });
    redis.on('smessage', (_: string, text: string) => {
      this.link.received();
      receive(text);
    });
    // A slot has moved. The next attempts subscribe again where the slots are now.
    redis.on('moved', () => this.channels.clear());
    redis.once('end', ended);
    this.link.watchMessages(false);
    redis.connect().catch(ignore);
  }

  subscribe(channel: string, until: number): void {
    const known = this.channels.has(channel);
    this.channels.set(channel, until);
    if (!known) this.link.track(this.redis.ssubscribe(channel)).catch(() => this.channels.delete(channel));
  }

  /** Ends subscriptions that are no longer needed. */
  sweep(now: number): void {
    for (const [channel, until] of this.channels) {
      if (until > now) continue;
      this.channels.delete(channel);
      this.link.track(this.redis.sunsubscribe(channel)).catch(ignore);
    }
  }

  close(): void {
    this.link.end();
    // A server that does not respond would keep a socket that is only ended.
    this.redis.stream?.destroy();
    this.redis.disconnect();
  }
}

/**
 * Subscriptions of a process to sharded channels in a large Cluster, one per lock with waiters here. A script sends a message to the
 * sharded channel first, which only the servers of the slot carry. Without a subscriber there it uses the inbox of the process, which
 * costs a message to every server. So a missing, late or moved subscription loses no message.
 */
export class ShardSubscriptions extends Timer {
  /** By the `host:port` of their servers. */
  private readonly shards = new Map<string, Shard>();
  private closed = false;

  constructor(
    private readonly connection: RedisConnection,
    private readonly receive: (text: string) => void,
  ) {
    super();
  }

  /** A caller waits for the lock. Its heartbeat repeats this. */
  waitFor(lockKey: string, channel: string): void {
    const { connection, shards } = this;
    const node = connection.linkOf(lockKey)?.client;
    if (node === undefined || this.closed) return;
    const name = `${node.options.host}:${node.options.port}`;
    const shard = shards.get(name);
    if (this.count >= MOST_CHANNELS && shard?.channels.has(channel) !== true) return;
    (shard ?? this.open(name, node)).subscribe(channel, connection.clock.now() + IDLE_MS);
    if (!this.isScheduled) connection.timers.add(this, SWEEP_MS);
  }

  /** Probes the connections, because a message did not arrive. */
  messageMissed(): void {
    for (const { link } of this.shards.values()) link.probe();
  }

  close(): void {
    this.closed = true;
    for (const shard of this.shards.values()) shard.close();
    this.shards.clear();
  }

  /** Closes connections without channels. */
  due(): void {
    const { clock, timers } = this.connection;
    for (const [name, shard] of this.shards) {
      shard.sweep(clock.now());
      if (shard.channels.size > 0) continue;
      this.shards.delete(name);
      shard.close();
    }
    if (this.shards.size > 0) timers.add(this, SWEEP_MS);
  }

  private get count(): number {
    let sum = 0;
    for (const { channels } of this.shards.values()) sum += channels.size;
    return sum;
  }

  private open(name: string, node: Redis): Shard {
    const shard = new Shard(node, this.connection, this.receive, () => {
      shard.link.end();
      if (this.shards.get(name) === shard) this.shards.delete(name);
    });
    this.shards.set(name, shard);
    return shard;
  }
}
