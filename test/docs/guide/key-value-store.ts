import {
  type AcquireAnswer,
  type AcquireRequest,
  type LockStore,
  LockStoreError,
  type ReleaseAnswer,
  type ReleaseRequest,
  type RenewAnswer,
  type RenewRequest,
} from 'nestjs-distribute-lock';

// #region client
/** A database with four atomic operations. */
export interface KeyValueClient {
  /** Writes the value if the key is absent; otherwise returns the current value and its remaining milliseconds. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<{ value: string; remainingMs: number } | undefined>;
  /** Sets the remaining time to `ttlMs` if the key has this value. It becomes shorter only with `exact`. */
  extend(key: string, value: string, ttlMs: number, exact: boolean): Promise<boolean>;
  /** Deletes the key if it has this value. */
  deleteIf(key: string, value: string): Promise<boolean>;
  /** Adds `count` to a number that never decreases, and returns the new number. */
  add(key: string, count: number): Promise<number>;
}
// #endregion

// #region store
export class KeyValueLockStore implements LockStore {
  /** Waiting callers have no common order, because they poll. */
  readonly ordered = false;

  constructor(private readonly client: KeyValueClient) {}

  async connect(): Promise<void> {
    await this.client.deleteIf('lock:connect', '');
  }

  async subscribe(): Promise<boolean> {
    return false; // this store sends no messages, so waiting callers poll
  }

  async acquire({ key, ownerToken, ttlMs, wait, block }: AcquireRequest): Promise<AcquireAnswer> {
    const held = await sent(this.client.setIfAbsent(`lock:${key}`, ownerToken, ttlMs));
    const own = held?.value === ownerToken; // the command was sent again
    if (held !== undefined && !own) {
      return { outcome: wait ? 'queued' : 'busy', remainingMs: held.remainingMs, foreign: true };
    }
    if (own) await sent(this.client.extend(`lock:${key}`, ownerToken, ttlMs, false));
    const last = await sent(this.client.add('fence', block));
    return { outcome: 'granted', fencingToken: last - block + 1, waiting: 0 };
  }

  async release({ key, ownerToken }: ReleaseRequest): Promise<ReleaseAnswer> {
    const deleted = await sent(this.client.deleteIf(`lock:${key}`, ownerToken));
    return deleted ? { outcome: 'free' } : { outcome: 'lost', resent: false };
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return Promise.all(
      requests.map(async ({ key, ownerToken, ttlMs, exact = false }) =>
        (await sent(this.client.extend(`lock:${key}`, ownerToken, ttlMs, exact))) ? 0 : 'lost',
      ),
    );
  }

  async close(): Promise<void> {}
}

/** Every failure of the client is temporary, and its command may have been executed. */
async function sent<T>(command: Promise<T>): Promise<T> {
  try {
    return await command;
  } catch (error) {
    throw new LockStoreError('The key-value client failed.', true, { cause: error });
  }
}
// #endregion
