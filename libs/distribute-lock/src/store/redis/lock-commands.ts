import {
  type AcquireAnswer,
  LockStoreError,
  type MoveAnswer,
  type ReleaseAnswer,
  type RenewAnswer,
} from '../lock-store.js';
import {
  BUSY,
  FREE,
  GRANTED,
  GRANTED_NEXT,
  LOST,
  PASSED,
  QUEUED,
  RENEWED,
  STILL_QUEUED,
} from '../protocol/reply-codes.js';
import { AnsweredCommand, type ReplyWord } from './command.js';
import type { RedisConnection } from './redis-connection.js';
import { isCount, isFencingToken, isFlag, isLeftMs, isTokenBeside } from './reply-checks.js';

/** Called when the server has queued the token, or a release queues it: messages about the lock may come. */
export type WaitListener = (ownerToken: string, lockKey: string) => void;

export class AcquireCommand extends AnsweredCommand<AcquireAnswer> {
  private readonly epoch: number;

  constructor(
    lockKey: string,
    queueKey: string,
    private readonly ownerToken: string,
    text: string,
    block: number,
    private readonly connection: RedisConnection,
    private readonly waits: WaitListener,
  ) {
    super(lockKey, queueKey, text, block);
    this.epoch = connection.epoch;
  }

  override textUntil(deadlineMs: number): string {
    return `${this.text} ${deadlineMs}`;
  }

  commonCase(fencingToken: number): boolean {
    return isFencingToken(fencingToken, this.block) && this.found({ outcome: 'granted', fencingToken, waiting: 0 });
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): boolean {
    if (code === GRANTED) {
      return (
        isFencingToken(x, this.block) && isCount(y) && this.found({ outcome: 'granted', fencingToken: x, waiting: y })
      );
    }
    if (!isLeftMs(x)) return false;
    if (code === BUSY) return isFlag(y) && this.found({ outcome: 'busy', remainingMs: x, foreign: y === 1 });
    return (code === QUEUED || code === STILL_QUEUED) && this.queued(x, y, code === STILL_QUEUED);
  }

  private queued(remainingMs: number, holder: ReplyWord, stood: boolean): boolean {
    this.waits(this.ownerToken, this.lockKey);
    const answer = { outcome: 'queued', remainingMs, stood } as const;
    if (isFlag(holder)) return this.found({ ...answer, foreign: holder === 1 });
    return isTokenBeside(holder, this.ownerToken) && this.found({ ...answer, foreign: false, ownToken: holder });
  }
  private found(answer: AcquireAnswer): true {
    return this.resolve(this.connection.epoch === this.epoch ? answer : { ...answer, resent: true });
  }
}

export class ReleaseCommand extends AnsweredCommand<ReleaseAnswer> {
  /** Epoch of the connection when the command was sent. An answer on another connection may answer a resent command. */
  private readonly epoch: number;

  constructor(
    lockKey: string,
    queueKey: string,
    private readonly ownerToken: string,
    text: string,
    private readonly connection: RedisConnection,
    /** The next attempt of the process, with its number of fencing tokens. */
    private readonly again: { readonly block: number; readonly ownerToken?: string } | undefined,
  ) {
    super(lockKey, queueKey, text);
    this.epoch = connection.epoch;
  }

  override textUntil(deadlineMs: number): string {
    return this.again !== undefined ? `${this.text} ${deadlineMs}` : this.text;
  }

  commonCase(): boolean {
    return this.resolve({ outcome: 'free' });
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): boolean {
    if (code === FREE) return this.resolve({ outcome: 'free' });
    if (code === PASSED) return this.resolve({ outcome: 'passed' });
    if (code === LOST) return isFlag(x) && this.resolve(this.lost(x === 1));
    if (this.again === undefined) return false;
    if (code === QUEUED) return isLeftMs(x) && this.resolve({ outcome: 'queued', remainingMs: x });
    if (code !== GRANTED_NEXT || !isFencingToken(x, this.again.block) || !this.isNext(y)) return false;
    return this.resolve({ outcome: 'granted', ownerToken: y, fencingToken: x, waiting: 0 });
  }

  /** Whether the granted token is the requested one, or any token of this process if none was requested. */
  private isNext(word: ReplyWord): word is string {
    const next = this.again?.ownerToken;
    return next === undefined ? isTokenBeside(word, this.ownerToken) : word === next;
  }

  private lost(taken: boolean): ReleaseAnswer {
    return { outcome: 'lost', resent: this.connection.epoch !== this.epoch, ...(taken ? { taken } : {}) };
  }
}

const sentTwice = (): Error => new LockStoreError('The connection was lost while the lease was shortened.', true);

export class RenewCommand extends AnsweredCommand<RenewAnswer> {
  private readonly epoch: number;

  constructor(
    lockKey: string,
    queueKey: string,
    text: string,
    private readonly connection: RedisConnection,
    /** The renewal may shorten the lease. */
    private readonly exact = false,
  ) {
    super(lockKey, queueKey, text);
    this.epoch = connection.epoch;
  }

  commonCase(): boolean {
    return false;
  }

  answered(code: number, x: ReplyWord): boolean {
    if (code === LOST) return isFlag(x) && this.resolve(x === 1 ? 'taken' : 'lost');
    // A command that was sent on two connections may be executed again and shorten the lease later.
    const isAmbiguous = this.exact && this.connection.epoch !== this.epoch;
    return code === RENEWED && isCount(x) && this.resolve(isAmbiguous ? sentTwice() : x);
  }
}

/** What a script replies to the command `m`; undefined if the reply is not valid. */
export function moveAnswer(code: number, x: ReplyWord, y: ReplyWord): MoveAnswer | undefined {
  if (code === LOST) return isFlag(x) ? { outcome: 'lost', taken: x === 1 } : undefined;
  if (code !== GRANTED || !isFencingToken(x, 1) || !isCount(y)) return undefined;
  return { outcome: 'granted', fencingToken: x, waiting: y };
}

export class MoveCommand extends AnsweredCommand<MoveAnswer> {
  override textUntil(deadlineMs: number): string {
    return `${this.text} ${deadlineMs}`;
  }

  commonCase(): boolean {
    return false;
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): boolean {
    const answer = moveAnswer(code, x, y);
    return answer !== undefined && this.resolve(answer);
  }
}
