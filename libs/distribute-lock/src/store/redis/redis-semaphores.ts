import type {
  AcquireAnswer,
  AcquireRequest,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';
import { Asked } from './asked.js';
import type { ReplyWord } from './command.js';
import type { CommandBatch } from './command-batch.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';

/** Codes of the script's replies; its header says what they mean. */
const GRANTED = 1;
const QUEUED = 2;
const FREE = 4;
const LOST = 6;
const GRANTED_NEXT = 8;
const MISMATCH = 10;

/** A command of `semaphore.lua`, and what its answer means. */
class SemaphoreCommand<T> extends Asked<T> {
  constructor(
    lockKey: string,
    private readonly helperKeys: readonly string[],
    text: string,
    private readonly meaning: (code: number, x: number, y: number) => T,
    /** It wants permits. */
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

  commonCase(): void {
    throw new Error('A command of a semaphore has no short answer.');
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): void {
    this.resolve(this.meaning(code, x as number, y as number));
  }
}

/** Semaphores on one Redis primary. */
export class RedisSemaphores {
  constructor(
    private readonly commands: CommandBatch,
    private readonly keys: RedisKeys,
    private readonly connection: RedisConnection,
  ) {}

  acquire({ key, ownerToken, ttlMs, wait, block, permits = 1 }: AcquireRequest): PromiseLike<AcquireAnswer> {
    const text = `${wait ? 'w' : 'a'} ${ownerToken} ${ttlMs} ${block} ${permits}`;
    return this.ask(key, text, true, (code, x, y) => {
      if (code === GRANTED) return { outcome: 'granted', fencingToken: x, waiting: y };
      if (code === MISMATCH) return x === 0 ? { outcome: 'mismatch' } : { outcome: 'mismatch', permits: x };
      return { outcome: code === QUEUED ? 'queued' : 'busy', remainingMs: x, foreign: false };
    });
  }

  release({ key, ownerToken, next }: ReleaseRequest): PromiseLike<ReleaseAnswer> {
    const text =
      next === undefined ? `d ${ownerToken}` : `r ${ownerToken} ${next.ownerToken} ${next.ttlMs} ${next.block}`;
    // An answer on another connection may be that of a second sending.
    const { epoch } = this.connection;
    return this.ask(key, text, next !== undefined, (code, x, y) => {
      if (code === LOST) return { outcome: 'lost', resent: this.connection.epoch !== epoch };
      if (code === FREE || next === undefined) return { outcome: 'free' };
      if (code !== GRANTED_NEXT) return { outcome: 'queued', remainingMs: x };
      return { outcome: 'granted', ownerToken: next.ownerToken, fencingToken: x, waiting: y };
    });
  }

  renew({ key, ownerToken, ttlMs, exact }: RenewRequest): PromiseLike<RenewAnswer> {
    const text = `n ${ownerToken} ${ttlMs}${exact === true ? ' =' : ''}`;
    return this.ask<RenewAnswer>(key, text, false, (code, x) => (code === LOST ? 'lost' : x));
  }

  private ask<T>(
    key: string,
    text: string,
    wants: boolean,
    meaning: (code: number, x: number, y: number) => T,
  ): SemaphoreCommand<T> {
    const lockKey = this.keys.lock(key);
    const command = new SemaphoreCommand(lockKey, this.keys.semaphore(lockKey), text, meaning, wants);
    this.commands.add(command);
    return command;
  }
}
