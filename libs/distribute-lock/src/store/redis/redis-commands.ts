import { processClock, type Clock } from '../../runtime/clock.js';
import { lockScript, multiKeyScript, readwriteScript, semaphoreScript } from '../generated/lua-scripts.js';
import type { LuaScript } from '../lua-script.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  DowngradeRequest,
  LockName,
  LockStore,
  MoveAnswer,
  MoveRequest,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';
import { ACQUIRE, DOWNGRADE, MOVE, RELEASE, RENEW, type RuleCommand, type RuleName } from '../rule-commands.js';
import { Acknowledging, type AckSettings } from './acknowledged.js';
import type { Command } from './command.js';
import { CommandBatch } from './command-batch.js';
import { FenceCounter } from './fence-counter.js';
import type { Layout } from './layout.js';
import { CONNECT_LIMIT_MS } from './link.js';
import { AcquireCommand, SingleKeyCommand, type QueuedListener } from './lock-commands.js';
import { multiKeyAcquire } from './multi-key-command.js';
import { ReadWriteCommand } from './read-write-command.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';

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
  private readonly semaphores: CommandBatch;

  constructor(
    readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    private readonly queued: QueuedListener,
    { serverMayChange, clock = processClock }: RedisCommandSettings,
    /** Present if answers wait for replicas. */
    acks?: AckSettings,
  ) {
    const { clustered } = connection;
    const common = { connection, keys, clock, acknowledging: acks && new Acknowledging(connection, acks) };
    const batch = (script: LuaScript) => new CommandBatch(script, common);
    const counter = clustered ? undefined : new FenceCounter(serverMayChange !== true);
    const delegate = (command: Command, leftMs: number): void => this.addReadWrite(command, leftMs);
    this.exclusive = new CommandBatch(lockScript, { ...common, delegate, counter });
    this.readWrite = batch(readwriteScript);
    this.semaphores = batch(semaphoreScript);
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
    return this.add(ACQUIRE.rule(request), new AcquireCommand(request, this.keys, this.connection, this.queued));
  }

  release(request: ReleaseRequest): PromiseLike<ReleaseAnswer> {
    if (request.next !== undefined) this.queued(request.next.ownerToken, this.keys.lock(request.key));
    return this.send(RELEASE, request);
  }

  renew(request: RenewRequest): PromiseLike<RenewAnswer> {
    return this.send(RENEW, request);
  }

  downgrade(request: DowngradeRequest): PromiseLike<RenewAnswer> {
    return this.send(DOWNGRADE, request);
  }

  move(request: MoveRequest): PromiseLike<MoveAnswer> {
    return this.send(MOVE, request);
  }

  close(): void {
    this.connection.close();
  }

  private send<R extends LockName, A>(command: RuleCommand<R, A>, request: R): PromiseLike<A> {
    return this.add(command.rule(request), new SingleKeyCommand(command, request, this.keys, this.connection));
  }

  /** The script for exclusive locks is the fast one. It delegates commands that concern readers. */
  private add<C extends Command>(rule: RuleName, command: C): C {
    if (rule === 'locks') this.exclusive.add(command);
    else if (rule === 'semaphores') this.semaphores.add(command);
    else this.addReadWrite(command);
    return command;
  }

  private addReadWrite(command: Command, leftMs = Infinity): void {
    this.readWrite.add(new ReadWriteCommand(command, this.keys).endsIn(leftMs, this.connection.timers));
  }
}
