import { Redis, type RedisOptions } from 'ioredis';

import { processClock, type Clock } from '../../runtime/clock.js';
import { TimerLanes } from '../../runtime/timer-lanes.js';
import { lockScript } from '../../scripts/generated/lua-scripts.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  LockStore,
  LockStoreListener,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';
import { CommandBatch } from './command-batch.js';
import { Inbox } from './inbox.js';
import { ownOptions } from './own-options.js';
import type { RedisClient } from './redis-client.js';
import { RedisConnection } from './redis-connection.js';
import { RedisKeys } from './redis-keys.js';
import { AcquireCommand, ReleaseCommand, RenewCommand } from './replies.js';

/** How long the first connection may take. */
const CONNECT_LIMIT_MS = 1_500;

/** How a {@link RedisLockStore} names its keys. */
export interface RedisLockStoreSettings {
  /** Put before every lock's key. */
  readonly prefix: string;
  /** Replaced in tests. */
  readonly clock?: Clock;
}

/**
 * Locks on one Redis primary. The owner token alone decides who the holder is, so a release that comes too late cannot free
 * another owner's lock.
 */
export class RedisLockStore implements LockStore {
  private readonly keys: RedisKeys;
  private readonly commands: CommandBatch;
  private readonly inbox: Inbox;
  private readonly lanes: TimerLanes;

  private constructor(
    private readonly connection: RedisConnection,
    { prefix, clock = processClock }: RedisLockStoreSettings,
  ) {
    this.keys = new RedisKeys(prefix);
    this.lanes = new TimerLanes(clock);
    this.commands = new CommandBatch(lockScript, connection, this.keys.fence, clock, this.lanes);
    this.inbox = new Inbox(connection, prefix, clock);
  }

  /** Opens a connection of its own, on the first command or `connect()`. */
  static open(options: RedisOptions | string, settings: RedisLockStoreSettings): RedisLockStore {
    const client = typeof options === 'string' ? new Redis(options, ownOptions({})) : new Redis(ownOptions(options));
    return new RedisLockStore(new RedisConnection(client, true, settings.clock ?? processClock), settings);
  }

  /** Uses a client that somebody else opened and closes. */
  static over(client: RedisClient, settings: RedisLockStoreSettings): RedisLockStore {
    return new RedisLockStore(new RedisConnection(client, false, settings.clock ?? processClock), settings);
  }

  async connect(): Promise<void> {
    await this.connection.whenReady(CONNECT_LIMIT_MS);
    await this.commands.probe();
  }

  async subscribe(processId: string, listener: LockStoreListener): Promise<boolean> {
    await this.inbox.open(processId, listener);
    return true;
  }

  acquire({ key, ownerToken, wait, ttlMs, block }: AcquireRequest): Promise<AcquireAnswer> {
    const lockKey = this.keys.lock(key);
    const text = `${wait ? 'w' : 'a'} ${ownerToken} ${ttlMs} ${block}`;
    return new Promise((resolve, reject) =>
      this.commands.add(new AcquireCommand(lockKey, this.keys.queue(lockKey), text, resolve, reject)),
    );
  }

  release({ key, ownerToken, next, grantOwn }: ReleaseRequest): Promise<ReleaseAnswer> {
    const lockKey = this.keys.lock(key);
    const again = next ?? grantOwn;
    const text =
      again === undefined
        ? `d ${ownerToken}`
        : `r ${ownerToken} ${next?.ownerToken ?? '-'} ${again.ttlMs} ${again.block}`;
    return new Promise((resolve, reject) =>
      this.commands.add(new ReleaseCommand(lockKey, this.keys.queue(lockKey), text, resolve, reject, this.connection)),
    );
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return Promise.all(requests.map((request) => this.renewOne(request)));
  }

  async close(): Promise<void> {
    this.lanes.close();
    this.inbox.close();
    this.connection.close();
  }

  private renewOne({ key, ownerToken, ttlMs }: RenewRequest): Promise<RenewAnswer> {
    const lockKey = this.keys.lock(key);
    const text = `n ${ownerToken} ${ttlMs}`;
    return new Promise((resolve) =>
      this.commands.add(new RenewCommand(lockKey, this.keys.queue(lockKey), text, resolve, resolve)),
    );
  }
}
