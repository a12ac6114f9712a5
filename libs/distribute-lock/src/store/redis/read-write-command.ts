import { Command, type ReplyWord } from './command.js';
import type { RedisKeys } from './redis-keys.js';

/** The same command, for the script that knows of readers and wants more keys. */
export class ReadWriteCommand extends Command {
  constructor(
    private readonly command: Command,
    private readonly names: RedisKeys,
  ) {
    super(command.lockKey, command.queueKey, command.text);
  }

  override addKeys(keys: string[]): void {
    const { lockKey, names } = this;
    keys.push(lockKey, this.queueKey, names.readers(lockKey), names.gate(lockKey));
  }

  commonCase(x: number): void {
    this.command.commonCase(x);
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): void {
    this.command.answered(code, x, y);
  }

  failed(error: Error): void {
    this.command.failed(error);
  }
}
