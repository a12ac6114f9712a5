import type { LuaScript, LuaText } from '../../scripts/generated/lua-scripts.js';
import type { Command } from './command.js';
import type { RedisConnection } from './redis-connection.js';
import { messageOf, storeError } from './redis-errors.js';
import { fenceBeside } from './redis-keys.js';

/** Whether the server does not know the script yet: it must be sent with its text. */
export const isUnknownScript = (error: unknown): boolean => messageOf(error).startsWith('NOSCRIPT');

/** Calls a script on the server. */
export class ScriptRunner {
  private readonly script: LuaText;

  constructor(
    script: LuaScript,
    private readonly connection: RedisConnection,
    private readonly fenceKey: string,
  ) {
    this.script = (connection.clustered ? script.cluster : undefined) ?? script;
  }

  /** All commands are of one slot, in a cluster of one lock. */
  run(commands: readonly Command[], withText: boolean): Promise<unknown> {
    const keys = [this.connection.clustered ? fenceBeside(commands[0].lockKey) : this.fenceKey];
    const texts: string[] = [];
    for (const command of commands) {
      command.addKeys(keys);
      texts.push(command.text);
    }
    return this.evaluate(keys, texts, withText);
  }

  /** The same for one command with the usual keys, without lists. With `counted` fencing tokens may be counted up. */
  runOne({ lockKey, queueKey, text }: Command, counted: boolean): Promise<unknown> {
    const words = counted ? `${text} +` : text;
    const { client, durability } = this.connection;
    return durability === undefined
      ? client.evalsha(this.script.sha1, 3, this.fenceKey, lockKey, queueKey, words)
      : this.evaluate([this.fenceKey, lockKey, queueKey], [words]);
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

  private evaluate(keys: readonly string[], texts: readonly string[], withText = false): Promise<unknown> {
    return this.connection.evaluate({ script: this.script, withText, keys, texts });
  }
}
