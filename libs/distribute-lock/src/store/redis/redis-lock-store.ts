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
import type { AckSettings } from './acknowledged.js';
import { type CheckAtStart, CHECKS_AT_START } from './checks-at-start.js';
import { connectionTo, type RedisSource } from './connection-to.js';
import type { CredentialsSource } from './credentials.js';
import { Inbox } from './messages/inbox.js';
import { Layout, type LockLayout } from './layout.js';
import type { QueuedListener } from './lock-commands.js';
import { RedisAdmin } from './redis-admin.js';
import { RedisCommands, type RedisCommandSettings } from './redis-commands.js';
import { isCluster, type RedisClient } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { RedisHints } from './messages/redis-hints.js';
import { RedisKeys } from './redis-keys.js';
import { RedisTickets } from './redis-tickets.js';

/** Settings of a Redis store. */
export interface RedisLockStoreSettings extends RedisCommandSettings {
  /** Prefix of every lock key. */
  readonly prefix: string;
  /**
   * How locks share script calls and counters of fencing tokens.
   * @defaultValue `'auto'`
   */
  readonly layout?: LockLayout | undefined;
  /**
   * Called before each connection.
   * @defaultValue the credentials in the options or the client at that time
   */
  readonly credentials?: CredentialsSource | undefined;
  /**
   * Replicas that must acknowledge a grant before it counts.
   * @defaultValue a grant counts when the primary has answered
   */
  readonly durability?: AckSettings | undefined;
}

/**
 * Locks on one Redis primary. Only the owner token identifies the holder, so a late release cannot free the lock of
 * another owner.
 */
export class RedisLockStore implements LockStore {
  readonly kinds: ReadonlySet<LockKind> = LOCK_KINDS;
  readonly acquireAll: RedisCommands['acquireAll'] | undefined;
  private readonly commands: RedisCommands;
  /** Takes the attempts. With `durability` it waits for replicas on a separate connection, which delays nothing else. */
  private readonly attempts: RedisCommands;
  private readonly inbox: Inbox;
  private readonly admin: RedisAdmin;
  readonly tickets: RedisTickets;

  private constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    settings: RedisLockStoreSettings,
  ) {
    const { durability, credentials, clock } = settings;
    this.inbox = new Inbox(connection, keys);
    const queued: QueuedListener = (ownerToken, lockKey) => this.inbox.waitFor(ownerToken, lockKey);
    this.attempts = this.commands = new RedisCommands(connection, keys, queued, settings);
    this.admin = new RedisAdmin(connection, keys, connection.clock);
    if (durability === undefined) {
      this.acquireAll = this.commands.acquireAll;
      this.tickets = new RedisTickets(connection, keys, this.commands);
      return;
    }
    const layoutOf = (client: RedisClient): Layout => newLayout(client, keys, settings);
    const acknowledged = connectionTo(connection.template, credentials, clock, layoutOf).connection;
    // Its attempts wait for messages, which arrive for the first connection.
    this.attempts = new RedisCommands(acknowledged, keys, queued, settings, durability);
    this.tickets = new RedisTickets(connection, keys, this.attempts);
  }

  /** Opens dedicated connections on the first command or `connect()`. A client of the application is only a template. */
  static open(source: RedisSource, settings: RedisLockStoreSettings): RedisLockStore {
    const { prefix, credentials, clock } = settings;
    const keysOf = (keyPrefix: string): RedisKeys => new RedisKeys(keyPrefix + prefix);
    const { connection, keyPrefix } = connectionTo(source, credentials, clock, (client, itsPrefix) =>
      newLayout(client, keysOf(itsPrefix), settings),
    );
    return new RedisLockStore(connection, keysOf(keyPrefix), settings);
  }

  private get isDurable(): boolean {
    return this.attempts !== this.commands;
  }

  keyFault(key: string): string | undefined {
    return this.commands.layout.bySlot ? this.keys.clusterFault(key) : undefined;
  }

  mayTakeAll(keys: readonly string[]): boolean {
    const { known, bySlot } = this.commands.layout;
    return (known && !bySlot) || this.keys.inOneSlot(keys);
  }

  async connect(): Promise<void> {
    await Promise.all([this.commands.connect(), this.isDurable && this.attempts.connect()]);
  }

  async advice(): Promise<readonly string[]> {
    const checks = Object.values<CheckAtStart>(CHECKS_AT_START);
    return (await Promise.all(checks.map((check) => check(this.commands.layout, this.connection.client)))).flat();
  }

  observeConnections(listener: ConnectionListener): void {
    this.connection.outage.listen(listener);
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
    return this.attempts.acquire(request);
  }

  release(request: ReleaseRequest): PromiseLike<ReleaseAnswer> {
    return this.isDurable ? this.releaseDurably(request) : this.commands.release(request);
  }

  /** A process that gets the lock by a release acquires it again, so that replicas confirm the grant. */
  private async releaseDurably({ key, ownerToken, kind, next }: ReleaseRequest): Promise<ReleaseAnswer> {
    const named = kind === undefined ? { key, ownerToken } : { key, ownerToken, kind };
    const answer = await this.commands.release(next === undefined ? named : { ...named, next });
    return answer.outcome === 'granted' ? { outcome: 'queued', remainingMs: 0 } : answer;
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return Promise.all(requests.map((request) => this.renewOne(request).then(undefined, (error: Error) => error)));
  }

  renewOne(request: RenewRequest): PromiseLike<RenewAnswer> {
    return this.commands.renew(request);
  }

  async downgrade(request: DowngradeRequest): Promise<RenewAnswer> {
    return this.commands.downgrade(request).then(undefined, (error: Error) => error);
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
    this.commands.close();
    if (this.isDurable) this.attempts.close();
  }
}

const newLayout = (client: RedisClient, keys: RedisKeys, { layout = 'auto' }: RedisLockStoreSettings): Layout =>
  new Layout(layout, client, keys, isCluster(client));
