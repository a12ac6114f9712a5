import { Alarm, type Timers } from '../../runtime/timers.js';
import { LockStoreError } from '../lock-store.js';
import type { ReplyWord } from '../protocol/reply.js';
import { Command } from './command.js';
import { COMMAND_LIMIT_MS, LIMIT_STEP_MS } from './link.js';
import type { RedisKeys } from './redis-keys.js';

/** Wraps a command for the script `readwrite`, which needs more keys. */
export class ReadWriteCommand extends Command {
  private over = false;
  private stop: (() => void) | undefined = undefined;
  /** Time that the first script took. */
  private spentMs = 0;

  constructor(
    private readonly command: Command,
    private readonly names: RedisKeys,
  ) {
    super(command.lockKey, command.queueKey);
  }

  /** Limits a command that another script has delegated: both scripts together have the limit of one command. */
  endsIn(leftMs: number, timers: Timers): this {
    if (leftMs === Infinity) return this;
    this.spentMs = COMMAND_LIMIT_MS - leftMs;
    const limit = new Alarm(() => {
      const error = new LockStoreError('Redis did not respond in time to a command that two scripts executed.', true);
      this.failed(error);
    });
    timers.add(limit, Math.ceil(leftMs / LIMIT_STEP_MS) * LIMIT_STEP_MS);
    this.stop = () => timers.remove(limit);
    return this;
  }

  textUntil(deadlineMs: number): string {
    return this.command.textUntil(Math.max(1, Math.floor(deadlineMs - this.spentMs)));
  }

  override addKeys(keys: string[]): void {
    const { lockKey, names } = this;
    keys.push(lockKey, this.queueKey, names.readers(lockKey), names.gate(lockKey));
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): boolean {
    return this.end(() => this.command.answered(code, x, y));
  }

  failed(error: Error): void {
    this.end(() => {
      this.command.failed(error);
      return true;
    });
  }

  late(): void {
    this.command.late();
  }

  /** @param deliver - delivers the reply; returns whether the command has ended */
  private end(deliver: () => boolean): boolean {
    if (this.over) {
      this.late();
      return true;
    }
    this.over = true;
    const isEnd = deliver();
    if (isEnd) this.stop?.();
    else this.over = false;
    return isEnd;
  }
}
