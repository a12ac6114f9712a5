import type { AcquireAllAnswer, AcquireRequest, LockStore } from '../lock-store.js';
import { BUSY, GRANTED } from '../protocol/reply-codes.js';
import { AnsweredCommand, type ReplyWord } from './command.js';
import type { CommandBatch } from './command-batch.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';
import { isFencingToken, isLeftMs } from './reply-checks.js';

/** A command of the script `multi-key`, which acquires all locks or none. */
class MultiKeyCommand extends AnsweredCommand<AcquireAllAnswer> {
  /** Epoch of the connection when the command was sent. An answer on another connection may answer a resent command. */
  private readonly epoch: number;

  constructor(
    private readonly requests: readonly AcquireRequest[],
    private readonly names: RedisKeys,
    private readonly connection: RedisConnection,
  ) {
    const tokens = requests.map(({ ownerToken }) => ownerToken);
    super(names.lock(requests[0].key), '', tokens.join(' '));
    this.epoch = connection.epoch;
  }

  override get locks(): number {
    return this.requests.length;
  }

  override textUntil(deadlineMs: number): string {
    return `${this.requests[0].ttlMs} ${deadlineMs} ${this.text}`;
  }

  override addKeys(keys: string[]): void {
    for (const { key } of this.requests) {
      const lockKey = this.names.lock(key);
      keys.push(lockKey, this.names.queue(lockKey));
      if (this.connection.bySlot) keys.push(this.names.fenceOf(lockKey));
    }
  }

  commonCase(): boolean {
    return false;
  }

  answered(code: number, x: ReplyWord): boolean {
    const { requests } = this;
    const resent = this.connection.epoch !== this.epoch;
    if (code === BUSY) return isLeftMs(x) && this.resolve({ outcome: 'busy', remainingMs: x, resent });
    if (code !== GRANTED || !isFencingToken(x, requests.length)) return false;
    return this.resolve({ outcome: 'granted', fencingTokens: requests.map((_, i) => x + i), resent });
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
