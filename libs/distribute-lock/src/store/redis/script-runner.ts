import type { Redis } from 'ioredis';

import type { LuaScript, LuaText } from '../../scripts/generated/lua-scripts.js';
import type { Call } from './call.js';
import type { RedisConnection } from './redis-connection.js';
import { messageOf, storeError } from './redis-errors.js';
import type { RedisKeys } from './redis-keys.js';
import { unknownReply } from './reply-checks.js';
import { evalsha, takesWritten, written } from './written-command.js';

/** Whether the server does not know the script yet: it must be sent with its text. */
export const isUnknownScript = (error: unknown): boolean => messageOf(error).startsWith('NOSCRIPT');

/** Calls a script on the server. */
export class ScriptRunner {
  private readonly script: LuaText;
  /** The client, where it takes commands that are written already. */
  private readonly direct: Redis | undefined;
  private readonly fenceKey: string;
  /** How a call with one command begins. */
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

  /** All commands are of one slot, in a cluster of one lock. */
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

  /** The counter from which the lock gets its fencing tokens. */
  fenceKeyOf(lockKey: string): string {
    return this.connection.clustered ? this.names.fenceOf(lockKey) : this.fenceKey;
  }

  /** The same for one command with the usual keys, without lists. */
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

  /** Proves that the server runs the script. */
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
    // It runs no commands, so it answers with an empty list.
    if (!Array.isArray(reply) || reply.length > 0) throw unknownReply(reply);
  }

  private deadlineOf({ commands, startedAt, limitMs }: Call): number {
    return this.connection.clockOf(commands[0].lockKey).deadline(startedAt, limitMs);
  }

  /** Answers wait for replicas. */
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
