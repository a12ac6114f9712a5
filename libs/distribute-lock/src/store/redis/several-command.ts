import type { AcquireAllAnswer } from '../acquire-all-answer.js';
import type { AcquireRequest, LockStore } from '../lock-store.js';
import { Asked } from './asked.js';
import type { ReplyWord } from './command.js';
import type { CommandBatch } from './command-batch.js';
import type { RedisKeys } from './redis-keys.js';

/** Code of the script's reply; its header says what it means. */
const GRANTED = 1;

/** A command of `several.lua`: all of these locks, or none. */
class SeveralCommand extends Asked<AcquireAllAnswer> {
  constructor(
    private readonly requests: readonly AcquireRequest[],
    private readonly names: RedisKeys,
    private readonly clustered: boolean,
  ) {
    const tokens = requests.map(({ ownerToken }) => ownerToken);
    super(names.lock(requests[0].key), '', `${requests[0].ttlMs} ${tokens.join(' ')}`);
  }

  override addKeys(keys: string[]): void {
    for (const { key } of this.requests) {
      const lockKey = this.names.lock(key);
      keys.push(lockKey, this.names.queue(lockKey));
      if (this.clustered) keys.push(this.names.fenceOf(lockKey));
    }
  }

  commonCase(): void {
    throw new Error('A command for several locks has no short answer.');
  }

  answered(code: number, x: ReplyWord): void {
    const number = x as number;
    if (code !== GRANTED) this.resolve({ outcome: 'busy', remainingMs: number });
    else this.resolve({ outcome: 'granted', fencingTokens: this.requests.map((_, i) => number + i) });
  }
}

/** Takes several locks by one call of the script; in Cluster they must be in one slot. */
export function severalLocks(
  commands: CommandBatch,
  names: RedisKeys,
  clustered: boolean,
): NonNullable<LockStore['acquireAll']> {
  return (requests) => {
    const command = new SeveralCommand(requests, names, clustered);
    commands.add(command);
    return command;
  };
}
