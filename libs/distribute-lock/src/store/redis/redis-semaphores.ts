import type {
  AcquireAnswer,
  AcquireRequest,
  MoveAnswer,
  MoveRequest,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';
import { BUSY, FREE, GRANTED, GRANTED_NEXT, LOST, QUEUED, RENEWED } from '../protocol/reply-codes.js';
import { AnsweredCommand, type ReplyWord } from './command.js';
import type { CommandBatch } from './command-batch.js';
import { moveAnswer, type WaitListener } from './lock-commands.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';
import { isCount, isFencingToken, isFlag, isLeftMs } from './reply-checks.js';

/** The third word of a reply: what is known about the place of the token. */
const [STOOD, ADJACENT, OTHER_KIND, APART] = [0, 1, 2, 3];
const PLACES: readonly unknown[] = [STOOD, ADJACENT, OTHER_KIND, APART];

/** Interprets a reply; returns undefined if the reply is not valid for the command. */
type Meaning<T> = (code: number, x: ReplyWord, y: ReplyWord) => T | undefined;

/** A command of the script `semaphore` with the interpretation of its reply. */
class SemaphoreCommand<T> extends AnsweredCommand<T> {
  constructor(
    lockKey: string,
    private readonly helperKeys: readonly string[],
    text: string,
    private readonly meaning: Meaning<T>,
    /** The command requests permits. */
    private readonly wants: boolean,
  ) {
    super(lockKey, '', text);
  }

  override textUntil(deadlineMs: number): string {
    return this.wants ? `${this.text} ${deadlineMs}` : this.text;
  }

  override addKeys(keys: string[]): void {
    keys.push(this.lockKey, ...this.helperKeys);
  }

  commonCase(): boolean {
    return false;
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): boolean {
    const answer = this.meaning(code, x, y);
    return answer !== undefined && this.resolve(answer);
  }
}

/** Semaphores on one Redis primary. */
export class RedisSemaphores {
  constructor(
    private readonly commands: CommandBatch,
    private readonly keys: RedisKeys,
    private readonly connection: RedisConnection,
    private readonly waits: WaitListener,
  ) {}

  acquire({ key, ownerToken, ttlMs, wait, block }: AcquireRequest): PromiseLike<AcquireAnswer> {
    const text = `${wait ? 'w' : 'a'} ${ownerToken} ${ttlMs} ${block}`;
    const meaning: Meaning<AcquireAnswer> = (code, x, y) => {
      if (code === GRANTED) return granted(x, y, block);
      if (!isLeftMs(x)) return undefined;
      if (code === BUSY) return isFlag(y) ? { outcome: 'busy', remainingMs: x, foreign: y === 1 } : undefined;
      if (code !== QUEUED || !PLACES.includes(y)) return undefined;
      this.waits(ownerToken, this.keys.lock(key));
      const answer = { outcome: 'queued', remainingMs: x } as const;
      if (y === OTHER_KIND) return { ...answer, foreign: true, adjacent: false };
      return { ...answer, foreign: false, stood: y === STOOD, adjacent: y === ADJACENT };
    };
    const { epoch } = this.connection;
    return this.add<AcquireAnswer>(key, text, true, (code, x, y) => {
      const answer = meaning(code, x, y);
      return answer === undefined || this.connection.epoch === epoch ? answer : { ...answer, resent: true };
    });
  }

  release({ key, ownerToken, next }: ReleaseRequest): PromiseLike<ReleaseAnswer> {
    const text =
      next === undefined ? `d ${ownerToken}` : `r ${ownerToken} ${next.ownerToken} ${next.ttlMs} ${next.block}`;
    // An answer on another connection may answer a resent command.
    const { epoch } = this.connection;
    return this.add<ReleaseAnswer>(key, text, next !== undefined, (code, x, y) => {
      if (code === LOST) return { outcome: 'lost', resent: this.connection.epoch !== epoch };
      if (code === FREE) return { outcome: 'free' };
      if (next === undefined) return undefined;
      if (code === QUEUED) return isLeftMs(x) ? { outcome: 'queued', remainingMs: x } : undefined;
      const answer = code === GRANTED_NEXT ? granted(x, y, next.block) : undefined;
      return answer && { ...answer, ownerToken: next.ownerToken };
    });
  }

  renew({ key, ownerToken, ttlMs, exact }: RenewRequest): PromiseLike<RenewAnswer> {
    const text = `n ${ownerToken} ${ttlMs}${exact === true ? ' =' : ''}`;
    return this.add<RenewAnswer>(key, text, false, (code, x) => {
      if (code === LOST) return 'lost';
      return code === RENEWED && isCount(x) ? x : undefined;
    });
  }

  move({ key, ownerToken, ttlMs, to }: MoveRequest): PromiseLike<MoveAnswer> {
    return this.add<MoveAnswer>(key, `m ${ownerToken} ${ttlMs} ${to}`, true, moveAnswer);
  }

  private add<T>(key: string, text: string, wants: boolean, meaning: Meaning<T>): SemaphoreCommand<T> {
    const lockKey = this.keys.lock(key);
    const command = new SemaphoreCommand(lockKey, this.keys.permits(lockKey), text, meaning, wants);
    this.commands.add(command);
    return command;
  }
}

function granted(fencingToken: ReplyWord, waiting: ReplyWord, block: number) {
  if (!isFencingToken(fencingToken, block) || !isCount(waiting) || waiting > 1) return undefined;
  return { outcome: 'granted', fencingToken, waiting } as const;
}
