import type { AcquireAllAnswer, AcquireRequest, LockStore } from '../lock-store.js';
import type { ReplyWord } from '../protocol/reply.js';
import { allAnswer, allText } from '../rule-commands.js';
import { AnsweredCommand } from './command.js';
import type { CommandBatch } from './command-batch.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';

/** A command of the script `multi-key`, which acquires all locks or none. */
class MultiKeyCommand extends AnsweredCommand<AcquireAllAnswer> {
  /** Epoch of the connection when the command was sent. An answer on another connection may answer a resent command. */
  private readonly epoch: number;

  constructor(
    private readonly requests: readonly AcquireRequest[],
    private readonly names: RedisKeys,
    private readonly connection: RedisConnection,
  ) {
    super(names.lock(requests[0].key), '');
    this.epoch = connection.epoch;
  }

  override get locks(): number {
    return this.requests.length;
  }

  textUntil(deadlineMs: number): string {
    return allText(this.requests, deadlineMs);
  }

  override addKeys(keys: string[]): void {
    for (const { key } of this.requests) {
      const lockKey = this.names.lock(key);
      keys.push(lockKey, this.names.queue(lockKey));
      if (this.connection.bySlot) keys.push(this.names.fenceOf(lockKey));
    }
  }

  answered(code: number, x: ReplyWord): boolean {
    const answer = allAnswer(this.requests, code, x, this.connection.epoch !== this.epoch);
    return answer !== undefined && this.resolve(answer);
  }
}

/** Acquires several locks with one script call; in a Cluster they must be in one slot. */
export function multiKeyAcquire(
  commands: CommandBatch,
  names: RedisKeys,
  connection: RedisConnection,
): NonNullable<LockStore['acquireAll']> {
  return (requests) => {
    const command = new MultiKeyCommand(requests, names, connection);
    commands.add(command);
    return command;
  };
}
