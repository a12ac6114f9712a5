import type { Answer, AnswerListener } from '../answer.js';
import type { AcquireAnswer, ReleaseAnswer, RenewAnswer } from '../lock-store.js';
import { Command, type ReplyWord } from './command.js';
import type { RedisConnection } from './redis-connection.js';

/** Codes of the script's replies; its header says what they mean. */
const GRANTED = 1;
const QUEUED = 2;
const FREE = 4;
const LOST = 6;
const GRANTED_OWN = 8;
const MISMATCH = 10;

/** A command, and the answer to it. */
abstract class Asked<T> extends Command implements Answer<T> {
  private listener: AnswerListener<T> | undefined = undefined;
  private promise: Promise<T> | undefined = undefined;
  /** It came before anybody listened. */
  private early: (() => void) | undefined = undefined;

  tell(listener: AnswerListener<T>): void {
    this.listener = listener;
    this.early?.();
  }

  // oxlint-disable-next-line unicorn/no-thenable -- an answer is there to be awaited
  get then(): Promise<T>['then'] {
    this.promise ??= new Promise((answered, failed) => this.tell({ answered, failed }));
    return this.promise.then.bind(this.promise);
  }

  failed(error: Error): void {
    if (this.listener === undefined) this.early = () => this.failed(error);
    else this.listener.failed(error);
  }

  protected resolve(answer: T): void {
    if (this.listener === undefined) this.early = () => this.resolve(answer);
    else this.listener.answered(answer);
  }
}

export class AcquireCommand extends Asked<AcquireAnswer> {
  commonCase(fencingToken: number): void {
    this.resolve({ outcome: 'granted', fencingToken, waiting: 0 });
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): void {
    if (code === GRANTED) this.resolve({ outcome: 'granted', fencingToken: x as number, waiting: y as number });
    else if (code === MISMATCH) this.resolve({ outcome: 'mismatch', permits: x as number });
    else this.resolve({ outcome: code === QUEUED ? 'queued' : 'busy', remainingMs: x as number, foreign: y === 1 });
  }
}

export class ReleaseCommand extends Asked<ReleaseAnswer> {
  /** The connection as it was when the command was given: an answer on another one may be that of a second sending. */
  private readonly epoch: number;

  constructor(
    lockKey: string,
    queueKey: string,
    text: string,
    private readonly connection: RedisConnection,
  ) {
    super(lockKey, queueKey, text);
    this.epoch = connection.epoch;
  }

  commonCase(): void {
    this.resolve({ outcome: 'free' });
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): void {
    if (code === FREE) this.resolve({ outcome: 'free' });
    else if (code === LOST) this.resolve({ outcome: 'lost', resent: this.connection.epoch !== this.epoch });
    else if (code === QUEUED) this.resolve({ outcome: 'queued', remainingMs: x as number });
    else if (code === GRANTED_OWN) {
      this.resolve({ outcome: 'granted', ownerToken: y as string, fencingToken: x as number, waiting: 0 });
    } else this.resolve({ outcome: 'passed' });
  }
}

export class RenewCommand extends Asked<RenewAnswer> {
  commonCase(): void {
    throw new Error('A renewal has no short answer.');
  }

  answered(code: number, x: ReplyWord): void {
    this.resolve(code === LOST ? 'lost' : (x as number));
  }
}
