import type { ClusterNode, ClusterOptions, RedisOptions } from 'ioredis';
import { processClock, type Clock } from '../../runtime/clock.js';
import {
  type LuaScript,
  lockScript,
  readwriteScript,
  semaphoreScript,
  multiKeyScript,
} from '../lua/generated/lua-scripts.js';
import {
  type LockState,
  type AcquireAnswer,
  type AcquireRequest,
  type ConnectionListener,
  type DowngradeRequest,
  LOCK_KINDS,
  type LockHints,
  type LockKind,
  type LockInquiry,
  type LockStore,
  type LockStoreListener,
  type ReleaseAnswer,
  type ReleaseRequest,
  type RenewAnswer,
  type RenewRequest,
} from '../lock-store.js';
import { Acknowledging, type AckSettings } from './acknowledged.js';
import type { CredentialsSource } from './credentials.js';
import { ClusterConnection } from './cluster-connection.js';
import type { Command } from './command.js';
import { CommandBatch } from './command-batch.js';
import { DurableLockStore } from './durable-lock-store.js';
import { evictionAdvice, RedisAdmin } from './redis-admin.js';
import { FenceCounter } from './fence-counter.js';
import { Inbox } from './inbox.js';
import { Layout, type LockLayout } from './layout.js';
import { CONNECT_LIMIT_MS } from './link.js';
import { another, isCluster, keyPrefixOf, openCluster, openRedis, type RedisClient } from './redis-client.js';
import { RedisConnection } from './redis-connection.js';
import { RedisHints } from './redis-hints.js';
import { RedisKeys } from './redis-keys.js';
import { ReadWriteCommand } from './read-write-command.js';
import { RedisSemaphores } from './redis-semaphores.js';
import { AcquireCommand, ReleaseCommand, RenewCommand } from './lock-commands.js';
import { multiKeyAcquire } from './multi-key-command.js';

/** Settings of a Redis store. */
export interface RedisLockStoreSettings {
  /** Prefix of every lock key. */
  readonly prefix: string;
  /**
   * How locks share script calls and counters of fencing tokens.
   * @defaultValue `'auto'`
   */
  readonly layout?: LockLayout | undefined;
  /**
   * Whether another server may answer on an open connection, so that every fencing token is taken from the clock.
   * @defaultValue `false`
   */
  readonly serverMayChange?: boolean | undefined;
  /**
   * Called before each connection.
   * @defaultValue the credentials in the options or the client at that time
   */
  readonly credentials?: CredentialsSource | undefined;
  /** Clock of the store; replaced in tests. */
  readonly clock?: Clock;
}

/** The settings with the full prefix, which begins with the key prefix of the client. */
const within = (keyPrefix: string, settings: RedisLockStoreSettings): RedisLockStoreSettings => ({
  ...settings,
  prefix: keyPrefix + settings.prefix,
});

/**
 * Locks on one Redis primary. Only the owner token identifies the holder, so a late release cannot free the lock of
 * another owner.
 */
export class RedisLockStore implements LockStore {
  readonly kinds: ReadonlySet<LockKind> = LOCK_KINDS;
  readonly acquireAll: NonNullable<LockStore['acquireAll']>;
  private readonly keys: RedisKeys;
  private readonly layout: Layout;
  private readonly commands: CommandBatch;
  private readonly readWrite: CommandBatch;
  private readonly semaphores: RedisSemaphores;
  private readonly inbox: Inbox;
  private readonly admin: RedisAdmin;

  private constructor(
    private readonly connection: RedisConnection,
    private readonly settings: RedisLockStoreSettings,
    private readonly template: RedisClient,
    acks?: AckSettings,
  ) {
    const { prefix, clock = processClock } = settings;
    const keys = new RedisKeys(prefix);
    this.keys = keys;
    const acknowledging = acks && new Acknowledging(connection, acks);
    const shared = { connection, keys, clock, acknowledging };
    const batch = (script: LuaScript) => new CommandBatch(script, shared);
    const { clustered } = connection;
    this.layout = connection.layout = new Layout(settings.layout ?? 'auto', connection.client, keys, clustered);
    const counter = clustered ? undefined : new FenceCounter(settings.serverMayChange !== true);
    const delegate = (command: Command, leftMs: number): void => this.addReadWrite(command, leftMs);
    this.commands = new CommandBatch(lockScript, { ...shared, delegate, counter });
    this.readWrite = batch(readwriteScript);
    this.semaphores = new RedisSemaphores(batch(semaphoreScript), this.keys, connection);
    this.acquireAll = multiKeyAcquire(batch(multiKeyScript), this.keys, connection);
    this.inbox = new Inbox(connection, keys);
    this.admin = new RedisAdmin(connection, this.keys, clock);
  }

  /** Opens a dedicated connection on the first command or `connect()`. */
  static open(options: RedisOptions | string, settings: RedisLockStoreSettings): RedisLockStore {
    const { client, keyPrefix } = openRedis(options, settings.credentials);
    return RedisLockStore.on(client, within(keyPrefix, settings));
  }

  /** Opens a dedicated Cluster client on the first command or `connect()`. */
  static openCluster(
    nodes: readonly ClusterNode[],
    options: ClusterOptions,
    settings: RedisLockStoreSettings,
  ): RedisLockStore {
    const client = openCluster(nodes, options, settings.credentials);
    return RedisLockStore.on(client, within(keyPrefixOf(options), settings));
  }

  /** Opens connections with the configuration of an application client. The application client itself is not used. */
  static over(client: RedisClient, settings: RedisLockStoreSettings): RedisLockStore {
    const full = within(keyPrefixOf(client.options), settings);
    return RedisLockStore.on(another(client, settings.credentials), full, client);
  }

  private static on(
    client: RedisClient,
    settings: RedisLockStoreSettings,
    template = client,
    acks?: AckSettings,
  ): RedisLockStore {
    const { clock = processClock } = settings;
    const connection = isCluster(client)
      ? new ClusterConnection(client, clock, template)
      : new RedisConnection(client, clock, template);
    return new RedisLockStore(connection, settings, template, acks);
  }

  /** A store for the same locks whose grants count only after enough replicas acknowledge them. */
  acknowledgedBy(acks: AckSettings): LockStore {
    const acknowledged = RedisLockStore.on(another(this.template), this.settings, this.template, acks);
    // Its attempts wait for messages, which this store receives.
    acknowledged.connection.waits = (ownerToken, lockKey) => this.connection.waits?.(ownerToken, lockKey);
    return new DurableLockStore(this, acknowledged);
  }

  keyFault(key: string): string | undefined {
    return this.layout.bySlot ? this.keys.clusterFault(key) : undefined;
  }

  mayTakeAll(keys: readonly string[]): boolean {
    return (this.layout.known && !this.layout.bySlot) || this.keys.inOneSlot(keys);
  }

  async connect(): Promise<void> {
    await this.connection.whenReady(CONNECT_LIMIT_MS);
    this.layout.check();
    await this.commands.probe();
  }

  async advice(): Promise<readonly string[]> {
    return [...this.layout.advice(), ...(await evictionAdvice(this.connection.client))];
  }

  observeConnections(listener: ConnectionListener): void {
    this.connection.outage.listener = listener;
  }

  async subscribe(processId: string, listener: LockStoreListener): Promise<boolean> {
    await this.inbox.open(processId, listener);
    return true;
  }

  messagesExpected(expected: boolean): void {
    this.inbox.messagesExpected(expected);
  }

  messageMissed(): void {
    this.inbox.messageMissed();
  }

  acquire(request: AcquireRequest): PromiseLike<AcquireAnswer> {
    if (request.kind === 'semaphore') return this.semaphores.acquire(request);
    const { key, ownerToken, kind, wait, ttlMs, block, steal } = request;
    const lockKey = this.keys.lock(key);
    const text = `${steal ? 's' : wait ? 'w' : 'a'} ${ownerToken} ${ttlMs} ${block}`;
    return this.add(
      steal ? 'write' : kind,
      new AcquireCommand(lockKey, this.keys.queue(lockKey), ownerToken, text, block, this.connection),
    );
  }

  release(request: ReleaseRequest): PromiseLike<ReleaseAnswer> {
    const { key, ownerToken, kind, next, grantOwn } = request;
    const lockKey = this.keys.lock(key);
    if (next !== undefined) this.connection.waits?.(next.ownerToken, lockKey);
    if (request.kind === 'semaphore') return this.semaphores.release(request);
    const again = next ?? grantOwn;
    const text =
      again === undefined
        ? `d ${ownerToken}`
        : `r ${ownerToken} ${next?.ownerToken ?? '-'} ${again.ttlMs} ${again.block}`;
    const queueKey = this.keys.queue(lockKey);
    return this.add(kind, new ReleaseCommand(lockKey, queueKey, ownerToken, text, this.connection, again));
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return Promise.all(requests.map((request) => this.renewOne(request).then(undefined, (error: Error) => error)));
  }

  renewOne(request: RenewRequest): PromiseLike<RenewAnswer> {
    if (request.kind === 'semaphore') return this.semaphores.renew(request);
    const { key, ownerToken, kind, ttlMs, exact } = request;
    const lockKey = this.keys.lock(key);
    const text = `n ${ownerToken} ${ttlMs}${exact === true ? ' =' : ''}`;
    const command = new RenewCommand(lockKey, this.keys.queue(lockKey), text, this.connection, exact);
    return this.add(kind, command);
  }

  downgrade({ key, ownerToken, readToken, ttlMs }: DowngradeRequest): Promise<RenewAnswer> {
    const lockKey = this.keys.lock(key);
    const text = `g ${ownerToken} ${ttlMs} ${readToken}`;
    const command = new RenewCommand(lockKey, this.keys.queue(lockKey), text, this.connection);
    this.addReadWrite(command);
    return command.then(undefined, (error: Error) => error);
  }

  readonly inspect = (key: string): Promise<LockState> => this.admin.inspect(key);
  readonly force = (key: string, only?: string): Promise<boolean> => this.admin.force(this, key, only);
  readonly askProcess = (inquiry: LockInquiry): Promise<string | undefined> => this.inbox.records.ask(inquiry);
  readonly revoked = (key: string, ownerToken: string): Promise<unknown> => this.admin.revoked(key, ownerToken);

  hints(receive: (text: string) => void): LockHints {
    return new RedisHints(this.connection, this.keys.hints, receive);
  }

  async close(): Promise<void> {
    this.connection.timers.close();
    this.inbox.close();
    this.connection.close();
  }

  /** Exclusive commands use the fast script, which delegates commands that concern readers. */
  private add<C extends Command>(kind: LockKind | undefined, command: C): C {
    if (kind === undefined || kind === 'exclusive') this.commands.add(command);
    else this.addReadWrite(command);
    return command;
  }

  private addReadWrite(command: Command, leftMs = Infinity): void {
    this.readWrite.add(new ReadWriteCommand(command, this.keys).endsIn(leftMs, this.connection.timers));
  }
}
