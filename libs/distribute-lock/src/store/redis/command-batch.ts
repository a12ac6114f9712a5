import type { LuaScript, LuaText } from '../../scripts/generated/lua-scripts.js';
import type { Clock } from '../../runtime/clock.js';
import { Timed, type TimerLanes } from '../../runtime/timer-lanes.js';
import { LockStoreError } from '../lock-store.js';
import { NOT_REPLICATED } from './acknowledged.js';
import type { Command, ReplyWord } from './command.js';
import type { RedisConnection } from './redis-connection.js';
import { answerError, isDemotion, messageOf, storeError, tooFewReplicas } from './redis-errors.js';
import { fenceBeside } from './redis-keys.js';

/** How long an answer may take. Neither an option of the client nor the system's time-outs bound it well. */
export const COMMAND_LIMIT_MS = 800;
/** Commands of one call of the script: it must not keep the server from others for long. */
const MOST_COMMANDS = 64;
/** Words of the script's answer for each command. */
const REPLY_WORDS = 3;
const REFUSED = 9;
const ELSEWHERE = 11;

/** Commands that are sent together and wait for the same answer. */
class Call extends Timed {
  settled = false;

  constructor(
    private readonly batch: CommandBatch,
    readonly commands: readonly Command[],
  ) {
    super();
  }

  due(): void {
    this.batch.late(this);
  }
}

/**
 * Sends the commands of one tick in one call of the script. At 128 concurrent cycles that takes a third to a half of the
 * client's time for the bare commands; a command that is alone goes at once.
 */
export class CommandBatch {
  private commands: Command[] = [];
  /** Calls without an answer, those that were given up among them. */
  private inFlight = 0;
  /** The last call had one command, and no other was on its way. */
  private alone = true;
  private answeredAt = -Infinity;
  private readonly flush = (): void => this.sendAll();
  private readonly script: LuaText;

  constructor(
    script: LuaScript,
    private readonly connection: RedisConnection,
    private readonly fenceKey: string,
    private readonly clock: Clock,
    private readonly lanes: TimerLanes,
    /** Takes over the commands that the script leaves to another one. */
    private readonly elsewhere?: (command: Command) => void,
  ) {
    this.script = (connection.clustered ? script.cluster : undefined) ?? script;
  }

  add(command: Command): void {
    // Who is alone does not wait for company.
    if (this.alone && this.inFlight === 0 && this.commands.length === 0) return this.start([command]);
    // After all promises of this tick, so that callers woken by one answer leave together.
    if (this.commands.push(command) === 1) process.nextTick(this.flush);
  }

  /** Proves that the server runs the script. */
  async probe(): Promise<void> {
    try {
      await this.evaluate([this.fenceKey], []);
    } catch (error) {
      if (!isUnknownScript(error)) throw storeError(error);
      await this.evaluate([this.fenceKey], [], true).catch((refused: unknown) => Promise.reject(storeError(refused)));
    }
  }

  /** A blocked event loop is not a mute server: answers that have arrived get a turn of the loop first. */
  late(call: Call): void {
    this.clock.nextTurn(() => {
      if (call.settled) return;
      const silentMs = this.clock.now() - this.answeredAt;
      const error = `Redis did not answer within ${COMMAND_LIMIT_MS} ms${this.connection.trouble}.`;
      this.reject(call, new LockStoreError(error, true));
      this.connection.silent(silentMs);
    });
  }

  private sendAll(): void {
    const { commands } = this;
    this.commands = [];
    if (this.connection.clustered) this.connection.together(() => this.sendByLock(commands));
    else this.startAll(commands);
  }

  /** In Cluster a call has keys of one slot, and a lock has a counter of its own. */
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
    if (commands.length <= MOST_COMMANDS) return this.start(commands);
    for (let i = 0; i < commands.length; i += MOST_COMMANDS) this.start(commands.slice(i, i + MOST_COMMANDS));
  }

  private start(commands: readonly Command[]): void {
    this.alone = commands.length === 1 && this.inFlight === 0;
    const call = new Call(this, commands);
    this.lanes.add(call, COMMAND_LIMIT_MS);
    if (this.connection.ready) return this.send(call);
    // Commands wait here for a connection, not in the client: those whose time is up are never sent.
    this.connection.whenReady(COMMAND_LIMIT_MS).then(
      () => {
        if (!call.settled) this.send(call);
      },
      (error: Error) => this.reject(call, error),
    );
  }

  private send(call: Call, withText = false): void {
    const keys = [this.connection.clustered ? fenceBeside(call.commands[0].lockKey) : this.fenceKey];
    const texts: string[] = [];
    for (const command of call.commands) {
      command.addKeys(keys);
      texts.push(command.text);
    }
    this.inFlight += 1;
    this.evaluate(keys, texts, withText).then(
      (replies) => this.answered(call, replies as number | ReplyWord[]),
      (error: unknown) => this.failed(call, error),
    );
  }

  private evaluate(keys: readonly string[], texts: readonly string[], withText = false): Promise<unknown> {
    return this.connection.evaluate({ script: this.script, withText, keys, texts });
  }

  private answered(call: Call, replies: number | readonly ReplyWord[]): void {
    this.inFlight -= 1;
    this.answeredAt = this.clock.now();
    if (call.settled) return;
    this.settle(call);
    const { commands } = call;
    if (typeof replies === 'number') return commands[0].commonCase(replies);
    for (let i = 0, at = 0; i < commands.length; i += 1, at += REPLY_WORDS) {
      const code = replies[at] as number;
      if (code === REFUSED) commands[i].failed(this.refused(String(replies[at + 1])));
      else if (code === ELSEWHERE) this.elsewhere?.(commands[i]);
      else if (code === NOT_REPLICATED) commands[i].failed(tooFewReplicas(replies[at + 1] as number));
      else commands[i].answered(code, replies[at + 1], replies[at + 2]);
    }
  }

  private failed(call: Call, error: unknown): void {
    this.inFlight -= 1;
    if (call.settled) return;
    if (isUnknownScript(error)) return this.send(call, true);
    // The server checks the rights for all keys of a call at once: one forbidden key must not fail the others.
    if (call.commands.length > 1 && messageOf(error).startsWith('NOPERM')) {
      this.settle(call);
      for (const command of call.commands) this.start([command]);
    } else {
      if (isDemotion(messageOf(error))) this.connection.demoted();
      this.reject(call, storeError(error));
    }
  }

  private refused(text: string): Error {
    if (isDemotion(text)) this.connection.demoted();
    return answerError(text);
  }

  private reject(call: Call, error: Error): void {
    if (call.settled) return;
    this.settle(call);
    for (const command of call.commands) command.failed(error);
  }

  private settle(call: Call): void {
    call.settled = true;
    this.lanes.remove(call);
  }
}

const isUnknownScript = (error: unknown): boolean => messageOf(error).startsWith('NOSCRIPT');
