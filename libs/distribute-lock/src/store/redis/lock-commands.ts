import type { AcquireAnswer, AcquireRequest, LockName } from '../lock-store.js';
import type { ReplyWord } from '../protocol/reply.js';
import { ACQUIRE, type RuleCommand } from '../rule-commands.js';
import { AnsweredCommand } from './command.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';

/** Called when the server has queued the token, or a release queues it: messages about the lock may come. */
export type QueuedListener = (ownerToken: string, lockKey: string) => void;

/** A command for one lock. */
export class SingleKeyCommand<Request extends LockName, Answer> extends AnsweredCommand<Answer> {
  /** Epoch of the connection when the command was sent. An answer on another connection may answer a resent command. */
  private readonly epoch: number;

  constructor(
    private readonly command: RuleCommand<Request, Answer>,
    protected readonly request: Request,
    private readonly names: RedisKeys,
    private readonly connection: RedisConnection,
    block = 0,
  ) {
    const lockKey = names.lock(request.key);
    super(lockKey, names.queue(lockKey), block);
    this.epoch = connection.epoch;
  }

  textUntil(deadlineMs: number): string {
    return this.command.text(this.request, deadlineMs);
  }

  override addKeys(keys: string[]): void {
    if (this.command.rule(this.request) === 'semaphores') keys.push(this.lockKey, ...this.names.permits(this.lockKey));
    else super.addKeys(keys);
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): boolean {
    const answer = this.command.meaning(this.request, code, x, y, this.connection.epoch !== this.epoch);
    return answer !== undefined && this.found(answer);
  }

  protected found(answer: Answer): true {
    return this.resolve(answer);
  }
}

/** An attempt, which may wait for a message. */
export class AcquireCommand extends SingleKeyCommand<AcquireRequest, AcquireAnswer> {
  constructor(
    request: AcquireRequest,
    names: RedisKeys,
    connection: RedisConnection,
    private readonly queued: QueuedListener,
  ) {
    super(ACQUIRE, request, names, connection, request.block);
  }

  protected override found(answer: AcquireAnswer): true {
    if (answer.outcome === 'queued') this.queued(this.request.ownerToken, this.lockKey);
    return super.found(answer);
  }
}
