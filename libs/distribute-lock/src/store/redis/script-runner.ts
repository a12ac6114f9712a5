import type { Redis } from 'ioredis';
import type { LuaScript, LuaText } from '../lua-script.js';
import type { RedisConnection } from './redis-connection.js';
import { isUnknownScript, storeError, unknownReply } from './redis-errors.js';
import type { RedisKeys } from './redis-keys.js';
import { evalsha, serialized, takesWritten } from './written-command.js';
import type { Acknowledging } from './acknowledged.js';
import { Timer } from '../../runtime/timers.js';
import type { Command } from './command.js';

/** Commands that are sent in one script call and share its answer. */
export class ScriptCall extends Timer {
  settled = false;
  /** The call was written, so it may have reached the server. */
  sent = false;
  /** The script may increment the fencing counter without reading the clock. */
  counted = false;
  /** The call was sent with the slot layout. */
  bySlot = false;

  constructor(
    readonly commands: readonly Command[],
    readonly startedAt: number,
    /** Limit for the answer. */
    readonly limitMs: number,
    /** Epoch of the connection when the call started. */
    readonly epoch: number,
    /** Called when the limit for the answer has passed. */
    private readonly late: (call: ScriptCall) => void,
  ) {
    super();
  }

  due(): void {
    this.late(this);
  }

  /** Fails the call when the timers close, even if the client stays open and sends it later. */
  override forgotten(wasScheduled: boolean): void {
    if (wasScheduled) this.late(this);
  }
}

/** Runs one script on one connection. */
export class ScriptRunner {
  /** The client, if it accepts serialized commands. */
  private readonly direct: Redis | undefined;
  private readonly fenceKey: string;
  /** Serialized beginning of a call with one command. */
  private readonly headOfOne: string;

  constructor(
    private readonly single: LuaScript,
    private readonly connection: RedisConnection,
    private readonly names: RedisKeys,
    /** Present if answers wait for replicas. */
    private readonly acknowledging: Acknowledging | undefined,
  ) {
    this.fenceKey = names.fence;
    this.direct = takesWritten(connection.client) ? connection.client : undefined;
    this.headOfOne = serialized([single.sha1, '3', names.fence]);
  }

  private get script(): LuaText {
    const { bySlot, sharded } = this.connection;
    if (sharded) return this.single.largeCluster;
    return bySlot ? this.single.cluster : this.single;
  }

  /** Runs a call. With the slot layout all its commands are for one lock, or in one slot. */
  run(call: ScriptCall, withText: boolean): Promise<unknown> {
    const { commands } = call;
    // No array literals: V8 may allocate them in the old generation, where they keep these strings until a full collection.
    const keys = Array.of(this.fenceKeyOf(commands[0].lockKey));
    for (const command of commands) command.addKeys(keys);
    const deadlineMs = this.deadlineOf(call);
    const texts = commands.map((command) => command.textUntil(deadlineMs));
    if (this.direct === undefined || withText || this.acknowledging !== undefined)
      return this.evaluate(keys, texts, withText, call);
    const args = [this.script.sha1, String(keys.length)].concat(keys, texts);
    return evalsha(this.direct, args, serialized(args));
  }

  /** The key of the fencing counter of the lock. */
  fenceKeyOf(lockKey: string): string {
    return this.connection.bySlot ? this.names.fenceOf(lockKey) : this.fenceKey;
  }

  /** Runs a call of one command with the usual keys and the single layout, without building lists. */
  runOne(call: ScriptCall): Promise<unknown> {
    const { direct, fenceKey } = this;
    const [command] = call.commands;
    const { lockKey, queueKey } = command;
    const text = command.textUntil(this.deadlineOf(call));
    const words = call.counted ? `${text} +` : text;
    if (direct === undefined || this.acknowledging !== undefined) {
      return this.evaluate([fenceKey, lockKey, queueKey], [words], false, call);
    }
    const args = Array.of(this.single.sha1, '3', fenceKey, lockKey, queueKey, words); // as in `run`
    return evalsha(direct, args, this.headOfOne + serialized([lockKey, queueKey, words]));
  }

  /** Verifies that the server runs the script. */
  async probe(): Promise<void> {
    let reply: unknown;
    try {
      reply = await this.evaluate([this.fenceKey], []);
    } catch (error) {
      const server = this.connection.serverOf(this.fenceKey);
      if (!isUnknownScript(error)) throw storeError(error, server);
      reply = await this.evaluate([this.fenceKey], [], true).catch((refused: unknown) =>
        Promise.reject(storeError(refused, server)),
      );
    }
    // Without commands the script replies with an empty list.
    if (!Array.isArray(reply) || reply.length > 0) throw unknownReply(reply);
  }

  private deadlineOf({ commands, startedAt, limitMs }: ScriptCall): number {
    return this.connection.clockOf(commands[0].lockKey).deadline(startedAt, limitMs);
  }

  /** Runs the script by its digest, or by its text if the server does not know it. */
  private evaluate(
    keys: readonly string[],
    texts: readonly string[],
    withText = false,
    origin?: ScriptCall,
  ): Promise<unknown> {
    const { script, acknowledging } = this;
    if (acknowledging !== undefined) return acknowledging.run({ script, withText, keys, texts, origin });
    const { client } = this.connection;
    return withText
      ? client.eval(script.lua, keys.length, ...keys, ...texts)
      : client.evalsha(script.sha1, keys.length, ...keys, ...texts);
  }
}
