import type { Redis } from 'ioredis';

import { Timer } from '../../../runtime/timers.js';
import type { Link } from '../link.js';
import { nameOf } from '../redis-client.js';
import type { RedisConnection } from '../redis-connection.js';
import { messageLink } from './message-link.js';

/** A channel stays subscribed for this time after the last attempt of a waiter. */
const IDLE_MS = 30_000;
/**
 * A server may keep a client whose connection died silently until TCP gives up, 15 minutes on Linux. It counts that client
 * as a receiver, so the channels of a lost connection stay subscribed on another one for this time.
 */
const LOST_MS = 16 * 60_000;
/** Pause after a server refused the command: it is older than Redis 7, or the user may not use it. */
const REFUSED_MS = 10 * 60_000;
const SWEEP_MS = 5_000;
/** Locks behind this number use plain messages only. */
const MOST_CHANNELS = 1_000;
/** Errors that say nothing about the permission: the slot is on another server, or the server is not ready. */
const PASSING = /^(MOVED|ASK|CLUSTERDOWN|TRYAGAIN|LOADING|MASTERDOWN)\b/;

const ignore = (): void => undefined;

interface Channel {
  readonly name: string;
  readonly lockKey: string;
  neededUntil: number;
  /** The connection that it is subscribed on, or will be. */
  shard: Shard | undefined;
}

/** A connection to the master of some slots. */
class Shard {
  readonly link: Link;
  /** No channel used it at the last sweep. */
  unused = false;

  constructor(node: Redis, connection: RedisConnection, receive: (text: string) => void, lost: () => void) {
    this.link = messageLink(node, connection, 'smessage', receive);
    const { client } = this.link;
    // A slot has moved. ioredis 5 then settles no command for it, so the connection is given up.
    client.on('moved', lost);
    client.once('end', lost);
    client.connect().catch(ignore);
  }

  subscribe(channel: string): Promise<unknown> {
    this.unused = false;
    return this.link.track(this.link.client.ssubscribe(channel));
  }

  unsubscribe(channel: string): void {
    this.link.track(this.link.client.sunsubscribe(channel)).catch(ignore);
  }
}

/**
 * Subscriptions of a process to sharded channels in a large Cluster, one per lock with waiters here. A script sends a message to the
 * sharded channel first, which only the servers of the slot carry. Without a subscriber there it uses the inbox of the process, which
 * costs a message to every server. So a missing, late or moved subscription loses no message.
 */
export class ShardSubscriptions extends Timer {
  private readonly channels = new Map<string, Channel>();
  /** By the `host:port` of their servers. */
  private readonly shards = new Map<string, Shard>();
  private refusedUntil = -Infinity;
  private expected = false;
  private closed = false;

  constructor(
    private readonly connection: RedisConnection,
    private readonly receive: (text: string) => void,
  ) {
    super();
  }

  /** A caller waits for the lock. Its heartbeat repeats this. */
  waitFor(lockKey: string, name: string): void {
    const now = this.connection.clock.now();
    if (this.closed || now < this.refusedUntil) return;
    const channel = this.channels.get(name) ?? this.add(lockKey, name);
    if (channel === undefined) return;
    channel.neededUntil = Math.max(channel.neededUntil, now + IDLE_MS);
    if (channel.shard === undefined) this.subscribe(channel);
    if (!this.isScheduled) this.connection.timers.add(this, SWEEP_MS);
  }

  /** Whether waiters depend on messages. */
  messagesExpected(expected: boolean): void {
    this.expected = expected;
    for (const { link } of this.shards.values()) link.watchMessages(expected);
  }

  /** Probes the connections, because a message did not arrive. */
  messageMissed(): void {
    for (const { link } of this.shards.values()) link.probe();
  }

  close(): void {
    this.closed = true;
    this.connection.timers.remove(this);
    for (const shard of this.shards.values()) shard.link.abandon();
    this.shards.clear();
    this.channels.clear();
  }

  /** Ends subscriptions that are no longer needed, repeats lost ones, and closes unused connections. */
  due(): void {
    const { clock, timers } = this.connection;
    const now = clock.now();
    const used = new Set<Shard | undefined>();
    for (const channel of this.channels.values()) {
      if (channel.neededUntil <= now) this.remove(channel);
      else if (channel.shard === undefined && now >= this.refusedUntil) this.subscribe(channel);
      used.add(channel.shard);
    }
    for (const [server, shard] of this.shards) this.sweep(server, shard, used.has(shard));
    if (this.shards.size > 0 || this.channels.size > 0) timers.add(this, SWEEP_MS);
  }

  private add(lockKey: string, name: string): Channel | undefined {
    if (this.channels.size >= MOST_CHANNELS) return undefined;
    const channel: Channel = { name, lockKey, neededUntil: 0, shard: undefined };
    this.channels.set(name, channel);
    return channel;
  }

  private remove(channel: Channel): void {
    this.channels.delete(channel.name);
    channel.shard?.unsubscribe(channel.name);
  }

  private subscribe(channel: Channel): void {
    const node = this.connection.linkOf(channel.lockKey)?.client;
    if (node === undefined) return;
    const server = nameOf(node);
    const shard = this.shards.get(server) ?? this.open(server, node);
    channel.shard = shard;
    shard.subscribe(channel.name).catch((error: unknown) => {
      if (channel.shard === shard) channel.shard = undefined;
      if (isRefusal(error)) this.refused();
    });
  }

  private open(server: string, node: Redis): Shard {
    const shard = new Shard(node, this.connection, this.receive, () => this.lost(server, shard));
    shard.link.watchMessages(this.expected);
    this.shards.set(server, shard);
    return shard;
  }

  /** The next attempts of waiters, or the next sweep, subscribe again where the slots are then. */
  private lost(server: string, shard: Shard): void {
    if (this.shards.get(server) !== shard) return;
    this.shards.delete(server);
    shard.link.abandon();
    const until = this.connection.clock.now() + LOST_MS;
    for (const channel of this.channels.values()) {
      if (channel.shard !== shard) continue;
      channel.shard = undefined;
      channel.neededUntil = until;
    }
  }

  private refused(): void {
    this.refusedUntil = this.connection.clock.now() + REFUSED_MS;
    this.channels.clear();
  }

  /** A message may be on its way to a connection whose last channel has just ended, so it closes one sweep later. */
  private sweep(server: string, shard: Shard, used: boolean): void {
    if (!used && shard.unused) {
      this.shards.delete(server);
      shard.link.abandon();
    }
    shard.unused = !used;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError' && !PASSING.test(error.message);
}
