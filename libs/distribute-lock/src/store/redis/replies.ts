import type { AcquireAnswer, ReleaseAnswer, RenewAnswer } from '../lock-store.js';
import { Asked } from './asked.js';
import type { ReplyWord } from './command.js';
import type { RedisConnection } from './redis-connection.js';

/** Codes of the script's replies; its header says what they mean. */
const GRANTED = 1;
const QUEUED = 2;
const BUSY = 3;
const FREE = 4;
const LOST = 6;
const GRANTED_OWN = 8;
const MISMATCH = 10;
const STILL_QUEUED = 13;

export class AcquireCommand extends Asked<AcquireAnswer> {
  override textUntil(deadlineMs: number): string {
    return `${this.text} ${deadlineMs}`;
  }

  commonCase(fencingToken: number): void {
    this.resolve({ outcome: 'granted', fencingToken, waiting: 0 });
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): void {
    if (code === GRANTED) this.resolve({ outcome: 'granted', fencingToken: x as number, waiting: y as number });
    else if (code === MISMATCH) this.resolve({ outcome: 'mismatch', permits: x as number });
    else if (code === BUSY) this.resolve({ outcome: 'busy', remainingMs: x as number, foreign: y === 1 });
    else this.resolve(queued(x as number, y, code === STILL_QUEUED));
  }
}

function queued(remainingMs: number, holder: ReplyWord, stood: boolean): AcquireAnswer {
  if (typeof holder === 'number') return { outcome: 'queued', remainingMs, foreign: holder === 1, stood };
  return { outcome: 'queued', remainingMs, foreign: false, stood, ownToken: holder };
}

export class ReleaseCommand extends Asked<ReleaseAnswer> {
  /** The connection as it was when the command was given: an answer on another one may be that of a second sending. */
  private readonly epoch: number;

  constructor(
    lockKey: string,
    queueKey: string,
    text: string,
    private readonly connection: RedisConnection,
    /** The process wants the lock again. */
    private readonly again: boolean,
  ) {
    super(lockKey, queueKey, text);
    this.epoch = connection.epoch;
  }

  override textUntil(deadlineMs: number): string {
    return this.again ? `${this.text} ${deadlineMs}` : this.text;
  }

  commonCase(): void {
    this.resolve({ outcome: 'free' });
  }

  answered(code: number, x: ReplyWord, y: ReplyWord): void {
    if (code === FREE) this.resolve({ outcome: 'free' });
    else if (code === LOST) this.resolve(this.lost(x === 1));
    else if (code === QUEUED) this.resolve({ outcome: 'queued', remainingMs: x as number });
    else if (code === GRANTED_OWN) {
      this.resolve({ outcome: 'granted', ownerToken: y as string, fencingToken: x as number, waiting: 0 });
    } else this.resolve({ outcome: 'passed' });
  }

  private lost(taken: boolean): ReleaseAnswer {
    return { outcome: 'lost', resent: this.connection.epoch !== this.epoch, ...(taken ? { taken } : {}) };
  }
}

export class RenewCommand extends Asked<RenewAnswer> {
  commonCase(): void {
    throw new Error('A renewal has no short answer.');
  }

  answered(code: number, x: ReplyWord): void {
    if (code === LOST) this.resolve(x === 1 ? 'taken' : 'lost');
    else this.resolve(x as number);
  }
}
