import type { LuaScript } from '../lua-script.js';
import type { Clock } from '../../runtime/clock.js';
import { LockStoreError } from '../lock-store.js';
import { DELEGATED, FREE, GRANTED, NOT_REPLICATED, REFUSED, TOO_LATE } from '../protocol/reply-codes.js';
import { ScriptCall, ScriptRunner } from './script-runner.js';
import type { ReplyWord } from '../protocol/reply.js';
import { type Command, REPLY_WORDS } from './command.js';
import type { Acknowledging } from './acknowledged.js';
import type { FenceCounter } from './fence-counter.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';
import {
  answerError,
  messageOf,
  storeError,
  tooFewReplicas,
  inTime,
  isUnknownScript,
  isWrongType,
  noAnswer,
  namingKeys,
  unknownReply,
} from './redis-errors.js';
import { COMMAND_LIMIT_MS, LIMIT_STEP_MS } from './link.js';
import { isCount, isFencingToken } from '../reply-checks.js';

/** Maximum number of locks in one script call. Bounds the time for which the script blocks the server. */
const MOST_LOCKS = 64;

export interface CommandBatchSettings {
  readonly connection: RedisConnection;
  readonly keys: RedisKeys;
  readonly clock: Clock;
  /** Present if answers wait for replicas. */
  readonly acknowledging?: Acknowledging | undefined;
  /** Receives the commands that the script delegates to another script, with their remaining time. */
  readonly delegate?: (command: Command, leftMs: number) => void;
  /** Present if the script may increment the fencing counter and its commands have the usual keys. */
  readonly counter?: FenceCounter | undefined;
}

/**
 * Sends the commands of one tick in one script call. With 128 concurrent cycles this takes a quarter of the client time
 * of separate commands. A single command is sent at once.
 */
export class CommandBatch {
  private commands: Command[] = [];
  /** Number of unanswered calls, including calls that have already failed. */
  private inFlight = 0;
  /** The last call had one command, and no other call was in flight. */
  private alone = true;
  private readonly flush = (): void => this.sendAll();
  private readonly script: ScriptRunner;

  private readonly connection: RedisConnection;
  private readonly clock: Clock;

  constructor(
    script: LuaScript,
    private readonly settings: CommandBatchSettings,
  ) {
    const { connection, clock, keys, acknowledging } = settings;
    this.connection = connection;
    this.clock = clock;
    this.script = new ScriptRunner(script, connection, keys, acknowledging);
  }

  add(command: Command): void {
    // A single command does not wait for a batch.
    if (this.alone && this.inFlight === 0 && this.commands.length === 0) return this.start([command]);
    if (this.commands.push(command) > 1) return;
    // Flush after all promises of this tick, so that callers resumed by one answer share a call.
    if (this.settings.counter !== undefined) process.nextTick(this.flush);
    // Flush after all due timers: holders that began together also end together.
    else this.clock.nextTurn(this.flush);
  }

  /** Verifies that the server runs the script. */
  probe(): Promise<void> {
    // An unknown script needs two calls, and each may wait for replicas.
    return inTime(this.script.probe(), 2 * COMMAND_LIMIT_MS, this.clock);
  }

  /** Fails a call at its limit. Answers that arrived while the event loop was blocked are processed first. */
  private readonly late = (call: ScriptCall): void =>
    this.clock.nextTurn(() => {
      if (call.settled) return;
      this.connection.linkOf(call.commands[0].lockKey)?.late();
      this.reject(call, noAnswer(COMMAND_LIMIT_MS, this.connection.trouble, call.sent));
    });

  private sendAll(): void {
    const { commands } = this;
    this.commands = [];
    if (this.connection.bySlot) this.connection.inOneWrite(() => this.sendByLock(commands));
    else this.startAll(commands);
  }

  /** Groups commands by lock: with the slot layout a call may have keys of one slot only, and each lock has a counter. */
  private sendByLock(commands: readonly Command[]): void {
    const locks = new Map<string, Command[]>();
    for (const command of commands) {
      const others = locks.get(command.lockKey);
      if (others === undefined) locks.set(command.lockKey, [command]);
      else others.push(command);
    }
    for (const same of locks.values()) this.startAll(same);
  }

  private startAll(commands: readonly Command[]): void {
    let from = 0;
    let locks = 0;
    for (let i = 0; i < commands.length; i += 1) {
      locks += commands[i].locks;
      if (locks > MOST_LOCKS && i > from) {
        this.start(commands.slice(from, i));
        from = i;
        locks = commands[i].locks;
      }
    }
    this.start(from === 0 ? commands : commands.slice(from));
  }

  private start(commands: readonly Command[]): void {
    this.alone = commands.length === 1 && this.inFlight === 0;
    const now = this.clock.now();
    const call = new ScriptCall(commands, now, COMMAND_LIMIT_MS, this.connection.epoch, this.late);
    if (this.connection.accepts(commands[0].lockKey)) this.send(call, false, true);
    else this.sendWhenReady(call);
    // The timer is added last, so that it does not delay the command.
    this.connection.timers.add(call, COMMAND_LIMIT_MS, now);
  }

  /** Waits for the link here and not in the client, so that commands past their limit are never sent. */
  private sendWhenReady(call: ScriptCall): void {
    this.connection.whenReady(COMMAND_LIMIT_MS, call.commands[0].lockKey).then(
      () => {
        if (!call.settled) this.send(call);
      },
      (error: Error) => this.reject(call, error),
    );
  }

  private send(call: ScriptCall, withText = false, mayCount = false): void {
    const { commands, epoch, startedAt } = call;
    const { bySlot, layout } = this.connection;
    if (bySlot && commands.some(({ lockKey }) => lockKey !== commands[0].lockKey)) return this.split(call);
    this.inFlight += 1;
    call.bySlot = bySlot;
    const link = this.connection.linkOf(commands[0].lockKey);
    // A call that waited for its link started earlier than it is written.
    const now = mayCount ? startedAt : this.clock.now();
    link?.wrote(now);
    link?.refreshClock(now);
    if (bySlot) layout?.mark(now);
    // A call that waits for replicas may be held back; it is marked when it is sent.
    call.sent ||= this.settings.acknowledging === undefined;
    const simple = this.settings.counter !== undefined && !bySlot && commands.length === 1 && !withText;
    call.counted = simple && mayCount && commands[0].block > 0 && this.settings.counter.mayCount(epoch, startedAt);
    const called = simple ? this.script.runOne(call) : this.script.run(call, withText);
    called.then(
      (reply) => {
        const answeredAt = this.clock.now();
        link?.answered(answeredAt);
        this.answered(call, reply, answeredAt);
      },
      (error: unknown) => {
        link?.failed(error);
        this.failed(call, error);
      },
    );
  }

  private answered(call: ScriptCall, reply: unknown, now: number): void {
    this.inFlight -= 1;
    const { commands } = call;
    if (call.settled) return reportLate(commands.filter((_, i) => !isTooLate(reply, i)));
    if (typeof reply === 'number') return this.allCommon(call, reply);
    if (!Array.isArray(reply) || reply.length !== REPLY_WORDS * commands.length) return this.unknown(call, reply);
    this.settle(call);
    const replies: readonly ReplyWord[] = reply;
    const refused: Command[] = [];
    for (let i = 0, at = 0; i < commands.length; i += 1, at += REPLY_WORDS) {
      const code = replies[at] as number;
      const x = replies[at + 1];
      if (code === TOO_LATE && isCount(x)) {
        refused.push(commands[i]);
        this.connection.clockOf(commands[i].lockKey).correct(x, call.startedAt);
      } else if (code === REFUSED && typeof x === 'string')
        this.fail([commands[i]], this.refused(x, commands[i].lockKey));
      else if (code === DELEGATED && this.settings.delegate !== undefined)
        this.settings.delegate(commands[i], call.dueAt - now);
      else if (code === NOT_REPLICATED && this.settings.acknowledging !== undefined)
        commands[i].failed(tooFewReplicas(x as number));
      else if (!commands[i].answered(code, x, replies[at + 2]))
        commands[i].failed(unknownReply(replies.slice(at, at + REPLY_WORDS)));
    }
    if (refused.length > 0) this.startAgain(refused, call, now);
  }

  /**
   * The server rejected the commands because the estimate of its clock was too low. They had no effect and are resent
   * with their remaining time.
   */
  private startAgain(commands: readonly Command[], { startedAt, limitMs, dueAt }: ScriptCall, now: number): void {
    const [{ lockKey }] = commands;
    const call = new ScriptCall(commands, startedAt, limitMs, this.connection.epoch, this.late);
    // The clock in the rejection includes the round trip of the command, which may have been slow.
    void this.connection.linkOf(lockKey)?.readClock();
    if (this.connection.accepts(lockKey)) this.send(call);
    else this.sendWhenReady(call);
    this.connection.timers.add(call, Math.ceil((dueAt - now) / LIMIT_STEP_MS) * LIMIT_STEP_MS);
  }

  private unknown(call: ScriptCall, reply: unknown): void {
    this.settings.counter?.forget();
    this.reject(call, unknownReply(reply));
  }

  /** Handles a reply that is one number: all commands had the common case, and their fencing tokens are consecutive. */
  private allCommon(call: ScriptCall, first: number): void {
    const { commands } = call;
    // Only the script that delegates has such a reply.
    if (this.settings.delegate === undefined) return this.unknown(call, first);
    let block = 0;
    for (const command of commands) block += command.block;
    if (block > 0 ? !isFencingToken(first, block) : first !== 0) return this.unknown(call, first);
    if (block > 0 && this.settings.counter?.rises(call, first, block, this.connection.epoch) === false)
      return this.send(call);
    this.settle(call);
    let next = first;
    for (const command of commands) {
      if (!command.answered(command.block > 0 ? GRANTED : FREE, next, 0)) command.failed(unknownReply(next));
      next += command.block;
    }
  }

  private failed(call: ScriptCall, error: unknown): void {
    this.inFlight -= 1;
    this.settings.counter?.forget();
    if (call.settled) return reportLate(call.commands);
    if (isUnknownScript(error)) return this.send(call, true);
    // The server has changed since the layout was chosen. It executed nothing.
    if (!call.bySlot && this.connection.layout?.refuse(error) === true) return this.split(call, storeError(error));
    // The server checks the permissions for all keys of a call at once. One forbidden key must not fail the other
    // commands.
    if (call.commands.length > 1 && messageOf(error).startsWith('NOPERM')) {
      this.settle(call);
      for (const command of call.commands) this.start([command]);
    } else {
      this.connection.noticeDemotion(messageOf(error));
      this.reject(call, storeError(error, this.connection.serverOf(call.commands[0].lockKey)));
    }
  }

  /** Sends the commands of each lock in a separate call. A command with several locks fails, and its caller repeats it. */
  private split(call: ScriptCall, { message } = tooManySlots): void {
    this.settle(call);
    const failing = call.commands.filter(({ locks }) => locks > 1);
    for (const command of failing) command.failed(new LockStoreError(message, true, { sent: false }));
    this.sendByLock(call.commands.filter(({ locks }) => locks === 1));
  }

  private refused(text: string, lockKey: string): Error {
    this.connection.noticeDemotion(text);
    return answerError(text, this.connection.serverOf(lockKey));
  }

  private reject(call: ScriptCall, error: Error): void {
    if (call.settled) return;
    this.settle(call);
    this.fail(call.commands, error);
  }

  private fail(commands: readonly Command[], error: Error): void {
    if (!isWrongType(error)) for (const command of commands) command.failed(error);
    else for (const command of commands) void this.failNamed(command, error);
  }

  /** Names the key that the operator must delete. */
  private async failNamed(command: Command, error: Error): Promise<void> {
    const keys = [this.script.fenceKeyOf(command.lockKey)];
    command.addKeys(keys);
    const named = namingKeys(error, keys, this.connection.client);
    command.failed(await inTime(named, COMMAND_LIMIT_MS, this.clock).catch(() => error));
  }

  private settle(call: ScriptCall): void {
    call.settled = true;
    this.connection.timers.remove(call);
  }
}

const tooManySlots = new Error('The server runs only scripts whose keys are in one slot.');

/**
 * Notifies commands of a late answer, even of an error: if the connection is lost before replicas are counted, the
 * script may still have run.
 */
function reportLate(commands: readonly Command[]): void {
  for (const command of commands) command.late();
}

const isTooLate = (reply: unknown, command: number): boolean =>
  Array.isArray(reply) && reply[command * REPLY_WORDS] === TOO_LATE;
