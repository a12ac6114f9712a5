import type { Redis } from 'ioredis';

import type { LuaScript, LuaText } from '../lua/generated/lua-scripts.js';
import type { Call } from './call.js';
import type { RedisConnection } from './redis-connection.js';
import { messageOf, storeError } from './redis-errors.js';
import type { RedisKeys } from './redis-keys.js';
import { unknownReply } from './reply-checks.js';
import { evalsha, takesWritten, written } from './written-command.js';

/** Whether the server does not know the script, so that its text must be sent. */
export const isUnknownScript = (error: unknown): boolean => messageOf(error).startsWith('NOSCRIPT');

export class ScriptRunner {
  private readonly script: LuaText;
  /** The client, if it accepts serialized commands. */
  private readonly direct: Redis | undefined;
  private readonly fenceKey: string;
  /** Serialized beginning of a call with one command. */
  private readonly headOfOne: string;

  constructor(
    script: LuaScript,
    private readonly connection: RedisConnection,
    private readonly names: RedisKeys,
  ) {
    this.fenceKey = names.fence;
    this.script = (connection.clustered ? script.cluster : undefined) ?? script;
    this.direct = takesWritten(connection.client) ? connection.client : undefined;
    this.headOfOne = [this.script.sha1, '3', names.fence].map(written).join('');
  }

  /** Runs a call. All its commands are in one slot, in a Cluster for one lock. */
  run(call: Call, withText: boolean): Promise<unknown> {
    const { commands } = call;
    const keys = [this.fenceKeyOf(commands[0].lockKey)];
    const deadlineMs = this.deadlineOf(call);
    const texts: string[] = [];
    for (const command of commands) {
      command.addKeys(keys);
      texts.push(command.textUntil(deadlineMs));
    }
    if (this.direct === undefined || withText || this.waits) return this.evaluate(keys, texts, withText, call);
    const args = [this.script.sha1, String(keys.length), ...keys, ...texts];
    let text = '';
    for (const arg of args) text += written(arg);
    return evalsha(this.direct, args, text);
  }

  /** The key of the fencing counter of the lock. */
  fenceKeyOf(lockKey: string): string {
    return this.connection.clustered ? this.names.fenceOf(lockKey) : this.fenceKey;
  }

  /** Runs a call of one command with the usual keys, without building lists. */
  runOne(call: Call): Promise<unknown> {
    const { direct, fenceKey } = this;
    const [command] = call.commands;
    const { lockKey, queueKey } = command;
    const text = command.textUntil(this.deadlineOf(call));
    const words = call.counted ? `${text} +` : text;
    if (direct === undefined || this.waits) {
      return this.evaluate([fenceKey, lockKey, queueKey], [words], false, call);
    }
    const args = [this.script.sha1, '3', fenceKey, lockKey, queueKey, words];
    return evalsha(direct, args, this.headOfOne + written(lockKey) + written(queueKey) + written(words));
  }

  /** Verifies that the server runs the script. */
  async probe(): Promise<void> {
    let reply: unknown;
    try {
      reply = await this.evaluate([this.fenceKey], []);
    } catch (error) {
      if (!isUnknownScript(error)) throw storeError(error);
      reply = await this.evaluate([this.fenceKey], [], true).catch((refused: unknown) =>
        Promise.reject(storeError(refused)),
      );
    }
    // Without commands the script replies with an empty list.
    if (!Array.isArray(reply) || reply.length > 0) throw unknownReply(reply);
  }

  private deadlineOf({ commands, startedAt, limitMs }: Call): number {
    return this.connection.clockOf(commands[0].lockKey).deadline(startedAt, limitMs);
  }

  /** Whether answers wait for replicas. */
  private get waits(): boolean {
    return this.connection.acknowledging !== undefined;
  }

  private evaluate(
    keys: readonly string[],
    texts: readonly string[],
    withText = false,
    asker?: Call,
  ): Promise<unknown> {
    return this.connection.evaluate({ script: this.script, withText, keys, texts, asker });
  }
}
