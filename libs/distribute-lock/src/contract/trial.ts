import { setTimeout as delay } from 'node:timers/promises';

import type {
  AcquireAnswer,
  AcquireRequest,
  LockKind,
  LockMessage,
  LockStore,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
} from '../store/lock-store.js';
import { check, eventually, expectOutcome } from './checks.js';

/** No rule lasts as long as such a lease, also on a slow machine. */
export const LONG_MS = 60_000;

/** A process of the contract: its own store, and the messages that it received. */
export interface StoreProcess {
  readonly id: string;
  readonly store: LockStore;
  readonly messages: readonly LockMessage[];
}

/** Which lock an attempt is for. */
export interface Wanted {
  readonly kind?: LockKind;
  readonly permits?: number;
  readonly weight?: number;
}

type Terms = Partial<Pick<AcquireRequest, 'ttlMs' | 'wait' | 'block' | 'steal'>>;

/** What one rule uses. It releases all its attempts at the end. */
export class Trial {
  private readonly attempts: StoreAttempt[] = [];
  private static count = 0;

  constructor(
    readonly processes: readonly [StoreProcess, StoreProcess, StoreProcess],
    private readonly prefix: string,
    readonly limitMs: number,
    /** A lease that ends while the rule waits. */
    readonly shortMs: number,
    readonly open: () => Promise<StoreProcess>,
    readonly sendsMessages: boolean,
  ) {}

  /** A key that no other rule uses. */
  key(): string {
    Trial.count += 1;
    return `${this.prefix}${Trial.count}`;
  }

  /** An attempt of the first process. */
  here(key: string, wanted?: Wanted): StoreAttempt {
    return this.attempt(this.processes[0], key, wanted);
  }

  /** An attempt of the second process. */
  there(key: string, wanted?: Wanted): StoreAttempt {
    return this.attempt(this.processes[1], key, wanted);
  }

  /** An attempt of the third process. */
  elsewhere(key: string, wanted?: Wanted): StoreAttempt {
    return this.attempt(this.processes[2], key, wanted);
  }

  attempt(process: StoreProcess, key: string, wanted: Wanted = {}): StoreAttempt {
    const sequence = (this.attempts.length + 1).toString(36);
    const attempt = new StoreAttempt(process, key, `${process.id}:${sequence}${suffixOf(wanted)}`, wanted.kind, this);
    this.attempts.push(attempt);
    return attempt;
  }

  /** Waits until a lease of `shortMs` must have ended. */
  async untilEnded(): Promise<void> {
    await delay(3 * this.shortMs);
  }

  /** Repeats an attempt until it is granted; resolves with its fencing token. */
  untilGranted(attempt: StoreAttempt, terms: Terms = {}): Promise<number> {
    return eventually(this.limitMs, `a grant of ${attempt.ownerToken}`, async () => {
      const answer = await attempt.acquire(terms);
      return answer.outcome === 'granted' ? answer.fencingToken : undefined;
    });
  }

  /** Resolves when the process received a message about the attempt. */
  async untilNotified(attempt: StoreAttempt, type: LockMessage['type']): Promise<void> {
    const { process, key, ownerToken } = attempt;
    await eventually(this.limitMs, `a message "${type}" for ${ownerToken}`, async () =>
      process.messages.find((one) => one.type === type && one.key === key && one.ownerToken === ownerToken),
    );
  }

  /**
   * Repeats steps whose waiters must not miss a heartbeat, until they are fast. `steps` get a new key each time.
   * An error counts only if the steps took less than half a second.
   */
  async promptly(steps: (key: string) => Promise<void>): Promise<void> {
    for (let left = 20; ; left -= 1) {
      const startedAt = performance.now();
      try {
        return await steps(this.key());
      } catch (error) {
        if (left === 0 || performance.now() - startedAt < 500) throw error;
      } finally {
        await this.end();
      }
    }
  }

  /** Releases all attempts, the waiting ones too. */
  async end(): Promise<void> {
    for (const attempt of this.attempts.splice(0)) await attempt.release().catch(() => undefined);
  }
}

const suffixOf = ({ kind, permits = 1, weight = 1 }: Wanted): string => {
  if (kind === 'read') return ':r';
  return kind === 'semaphore' ? `P${permits}:${weight}` : '';
};

/** One attempt: every command has the same owner token. */
export class StoreAttempt {
  constructor(
    readonly process: StoreProcess,
    readonly key: string,
    readonly ownerToken: string,
    private readonly kind: LockKind | undefined,
    readonly trial: Trial,
  ) {}

  private get name() {
    const { key, ownerToken, kind } = this;
    return kind === undefined ? { key, ownerToken } : { key, ownerToken, kind };
  }

  request(terms: Terms = {}): AcquireRequest {
    return { ...this.name, ttlMs: LONG_MS, wait: false, block: 1, ...terms };
  }

  async acquire(terms?: Terms): Promise<AcquireAnswer> {
    return this.process.store.acquire(this.request(terms));
  }

  async release(more: Pick<ReleaseRequest, 'next' | 'grantOwn'> = {}): Promise<ReleaseAnswer> {
    return this.process.store.release({ ...this.name, ...more });
  }

  async renew(ttlMs = LONG_MS, exact = false): Promise<RenewAnswer | undefined> {
    const [answer] = await this.process.store.renew([{ ...this.name, ttlMs, ...(exact ? { exact } : {}) }]);
    return answer;
  }

  /** Fails unless the acquire is granted; resolves with the fencing token. */
  async granted(terms?: Terms): Promise<number> {
    const answer = expectOutcome(await this.acquire(terms), `an acquire by ${this.ownerToken}`, 'granted');
    check(Number.isSafeInteger(answer.fencingToken) && answer.fencingToken > 0, 'a positive fencing token', answer);
    return answer.fencingToken;
  }

  /** Fails unless another owner holds the lock. */
  async refused(terms?: Terms): Promise<void> {
    const { remainingMs } = expectOutcome(await this.acquire(terms), `an acquire by ${this.ownerToken}`, 'busy');
    check(remainingMs >= -1 && remainingMs <= LONG_MS, `milliseconds up to ${LONG_MS}, or -1`, remainingMs);
  }

  async queued(terms?: Terms): Promise<void> {
    const what = `an acquire with wait by ${this.ownerToken}`;
    const { foreign } = expectOutcome(await this.acquire({ wait: true, ...terms }), what, 'queued');
    check(foreign || this.trial.sendsMessages, 'foreign: true, because no message will announce the release', foreign);
  }

  /** Fails unless the attempt holds the lock. Extends its lease. */
  async holds(): Promise<void> {
    const answer = await this.renew();
    check(typeof answer === 'number', `a number as the answer to a renewal by the holder ${this.ownerToken}`, answer);
  }

  /** Fails if the attempt holds the lock. */
  async holdsNothing(): Promise<void> {
    const answer = await this.renew();
    const isLost = answer === 'lost' || answer === 'taken';
    check(isLost, `lost or taken as the answer to a renewal by ${this.ownerToken}, which holds no lock`, answer);
  }

  /** Fails unless the release ends the lease. */
  async freed(): Promise<void> {
    expectOutcome(await this.release(), `a release by the holder ${this.ownerToken}`, 'free', 'passed');
  }

  /** Fails unless the release changes nothing. */
  async lost(more?: Pick<ReleaseRequest, 'next'>): Promise<void> {
    expectOutcome(await this.release(more), `a release by ${this.ownerToken}, which holds no lock`, 'lost');
  }
}
