import { processClock, type Clock } from '../../runtime/clock.js';
import { lockScript, multiKeyScript, readwriteScript, semaphoreScript } from '../generated/lua-scripts.js';
import type { LuaScript } from '../lua-script.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  DowngradeRequest,
  LockKind,
  LockStore,
  MoveAnswer,
  MoveRequest,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';
import { Acknowledging, type AckSettings } from './acknowledged.js';
import type { Command } from './command.js';
import { CommandBatch } from './command-batch.js';
import { FenceCounter } from './fence-counter.js';
import type { Layout } from './layout.js';
import { CONNECT_LIMIT_MS } from './link.js';
import { AcquireCommand, MoveCommand, ReleaseCommand, RenewCommand, type WaitListener } from './lock-commands.js';
import { multiKeyAcquire } from './multi-key-command.js';
import { ReadWriteCommand } from './read-write-command.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';
import { RedisSemaphores } from './redis-semaphores.js';

/** Settings of the lock commands on one server. */
export interface RedisCommandSettings {
  /**
   * Whether another server may answer on an open connection, so that every fencing token is taken from the clock.
   * @defaultValue `false`
   */
  readonly serverMayChange?: boolean | undefined;
  /** Clock of the store; replaced in tests. */
  readonly clock?: Clock;
}

/** The lock commands of one connection, with one batch for each script. */
export class RedisCommands {
  readonly acquireAll: NonNullable<LockStore['acquireAll']>;
  private readonly exclusive: CommandBatch;
  private readonly readWrite: CommandBatch;
  private readonly semaphores: RedisSemaphores;

  constructor(
    readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    private readonly waits: WaitListener,
    { serverMayChange, clock = processClock }: RedisCommandSettings,
    /** Present if answers wait for replicas. */
    acks?: AckSettings,
  ) {
    const { clustered } = connection;
    const shared = { connection, keys, clock, acknowledging: acks && new Acknowledging(connection, acks) };
    const batch = (script: LuaScript) => new CommandBatch(script, shared);
    const counter = clustered ? undefined : new FenceCounter(serverMayChange !== true);
    const delegate = (command: Command, leftMs: number): void => this.addReadWrite(command, leftMs);
    this.exclusive = new CommandBatch(lockScript, { ...shared, delegate, counter });
    this.readWrite = batch(readwriteScript);
    this.semaphores = new RedisSemaphores(batch(semaphoreScript), keys, connection, waits);
    this.acquireAll = multiKeyAcquire(batch(multiKeyScript), keys, connection);
  }

  /** Each connection that carries these commands has one. */
  get layout(): Layout {
    return this.connection.layout!;
  }

  async connect(): Promise<void> {
    await this.connection.whenReady(CONNECT_LIMIT_MS);
    this.layout.check();
    await this.exclusive.probe();
  }

  acquire(request: AcquireRequest): PromiseLike<AcquireAnswer> {
    if (request.kind === 'semaphore') return this.semaphores.acquire(request);
    const { key, ownerToken, kind, wait, ttlMs, block, steal } = request;
    const lockKey = this.keys.lock(key);
    const text = `${steal ? 's' : wait ? 'w' : 'a'} ${ownerToken} ${ttlMs} ${block}`;
    return this.add(
      steal ? 'write' : kind,
      new AcquireCommand(lockKey, this.keys.queue(lockKey), ownerToken, text, block, this.connection, this.waits),
    );
  }

  release(request: ReleaseRequest): PromiseLike<ReleaseAnswer> {
    const { key, ownerToken, kind, next, grantOwn } = request;
    const lockKey = this.keys.lock(key);
    if (next !== undefined) this.waits(next.ownerToken, lockKey);
    if (request.kind === 'semaphore') return this.semaphores.release(request);
    const again = next ?? grantOwn;
    const text =
      again === undefined
        ? `d ${ownerToken}`
        : `r ${ownerToken} ${next?.ownerToken ?? '-'} ${again.ttlMs} ${again.block}`;
    const queueKey = this.keys.queue(lockKey);
    return this.add(kind, new ReleaseCommand(lockKey, queueKey, ownerToken, text, this.connection, again));
  }

  renew(request: RenewRequest): PromiseLike<RenewAnswer> {
    if (request.kind === 'semaphore') return this.semaphores.renew(request);
    const { key, ownerToken, kind, ttlMs, exact } = request;
    const lockKey = this.keys.lock(key);
    const text = `n ${ownerToken} ${ttlMs}${exact === true ? ' =' : ''}`;
    const command = new RenewCommand(lockKey, this.keys.queue(lockKey), text, this.connection, exact);
    return this.add(kind, command);
  }

  downgrade({ key, ownerToken, readToken, ttlMs }: DowngradeRequest): PromiseLike<RenewAnswer> {
    const lockKey = this.keys.lock(key);
    const text = `g ${ownerToken} ${ttlMs} ${readToken}`;
    const command = new RenewCommand(lockKey, this.keys.queue(lockKey), text, this.connection);
    this.addReadWrite(command);
    return command;
  }

  move(request: MoveRequest): PromiseLike<MoveAnswer> {
    if (request.kind === 'semaphore') return this.semaphores.move(request);
    const { key, ownerToken, ttlMs, to } = request;
    const lockKey = this.keys.lock(key);
    const text = `m ${ownerToken} ${ttlMs} ${to}`;
    const command = new MoveCommand(lockKey, this.keys.queue(lockKey), text);
    this.addReadWrite(command);
    return command;
  }

  close(): void {
    this.connection.close();
  }

  /** Exclusive commands use the fast script, which delegates commands that concern readers. */
  private add<C extends Command>(kind: LockKind | undefined, command: C): C {
    if (kind === undefined || kind === 'exclusive') this.exclusive.add(command);
    else this.addReadWrite(command);
    return command;
  }

  private addReadWrite(command: Command, leftMs = Infinity): void {
    this.readWrite.add(new ReadWriteCommand(command, this.keys).endsIn(leftMs, this.connection.timers));
  }
}
