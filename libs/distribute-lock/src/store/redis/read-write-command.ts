import { Timed, type TimerLanes } from '../../runtime/timer-lanes.js';
import { LockStoreError } from '../lock-store.js';
import { Command, type ReplyWord } from './command.js';
import { COMMAND_LIMIT_MS } from './link.js';
import type { RedisKeys } from './redis-keys.js';

/** Limits of so many lengths, so that they share a few lanes. */
const STEP_MS = 100;

class Limit extends Timed {
  constructor(readonly due: () => void) {
    super();
  }
}

/** The same command, for the script that knows of readers and wants more keys. */
export class ReadWriteCommand extends Command {
  private over = false;
  private stop: (() => void) | undefined = undefined;
  /** What the first of two scripts took of the time of the command. */
  private spentMs = 0;

  constructor(
    private readonly command: Command,
    private readonly names: RedisKeys,
  ) {
    super(command.lockKey, command.queueKey, command.text);
  }

  /** It was sent to another script before: both together take no longer than one command may. */
  endsIn(leftMs: number, lanes: TimerLanes): this {
    if (leftMs === Infinity) return this;
    this.spentMs = COMMAND_LIMIT_MS - leftMs;
    const limit = new Limit(() => {
      const error = new LockStoreError('Redis did not answer the same command, sent to two scripts, in time.', true);
      this.failed(error);
    });
    lanes.add(limit, Math.ceil(leftMs / STEP_MS) * STEP_MS);
    this.stop = () => lanes.remove(limit);
    return this;
  }

  override textUntil(deadlineMs: number): string {
    return this.command.textUntil(Math.max(1, Math.floor(deadlineMs - this.spentMs)));
  }

  override addKeys(keys: string[]): void {
    const { lockKey, names } = this;
    keys.push(lockKey, this.queueKey, names.readers(lockKey), names.gate(lockKey));
  }

  /** The script for readers answers with lists only. */
  commonCase(): boolean {
    return false;
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

  /** @param tell - answers whether that was the end of the command */
  private end(tell: () => boolean): boolean {
    if (this.over) {
      this.late();
      return true;
    }
    this.over = true;
    const isEnd = tell();
    if (isEnd) this.stop?.();
    else this.over = false;
    return isEnd;
  }
}
