import {
  type AcquireAllAnswer,
  type AcquireAnswer,
  type AcquireRequest,
  type LockState,
  type LockStore,
  LockStoreError,
  type ReleaseAnswer,
  type ReleaseRequest,
  type RenewAnswer,
  type RenewRequest,
} from 'nestjs-distribute-lock';

/** What the store needs of a connection: every call runs at once, as in `sql.js`, `better-sqlite3` and `node:sqlite`. */
export interface SqliteConnection {
  /** Runs a statement; returns its rows. */
  rows(sql: string, ...values: readonly (string | number)[]): readonly Readonly<Record<string, string | number>>[];
}

const TABLES = [
  'CREATE TABLE IF NOT EXISTS locks (key TEXT PRIMARY KEY, owner TEXT NOT NULL, ends_at INTEGER NOT NULL)',
  'CREATE TABLE IF NOT EXISTS fences (key TEXT PRIMARY KEY, last INTEGER NOT NULL)',
];
const FIND = 'SELECT owner, ends_at FROM locks WHERE key = ? AND ends_at > ?';
const WRITE = 'INSERT OR REPLACE INTO locks (key, owner, ends_at) VALUES (?, ?, ?)';
const DELETE = 'DELETE FROM locks WHERE key = ?';
const COUNT =
  'INSERT INTO fences (key, last) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET last = last + excluded.last RETURNING last';

interface Held {
  readonly owner: string;
  readonly endsAt: number;
}

/**
 * Exclusive locks in a SQLite database of one process. A row per held lock, and a row per key for its fencing tokens,
 * which outlasts the lock. Waiting callers poll.
 */
export class SqliteLockStore implements LockStore {
  readonly ordered = false;

  constructor(
    private readonly connection: SqliteConnection,
    private readonly now: () => number = Date.now,
  ) {}

  async connect(): Promise<void> {
    this.inOneStep(() => TABLES.forEach((sql) => this.connection.rows(sql)));
  }

  async subscribe(): Promise<boolean> {
    return false;
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    return this.inOneStep(() => {
      const held = this.held(request.key);
      if (held !== undefined && held.owner !== request.ownerToken) {
        const outcome = request.wait ? 'queued' : 'busy';
        return { outcome, remainingMs: held.endsAt - this.now(), foreign: true } as const;
      }
      return { outcome: 'granted', fencingToken: this.grant(request, held), waiting: 0 } as const;
    });
  }

  async acquireAll(requests: readonly AcquireRequest[]): Promise<AcquireAllAnswer> {
    return this.inOneStep(() => {
      for (const { key, ownerToken } of requests) {
        const held = this.held(key);
        if (held !== undefined && held.owner !== ownerToken)
          return { outcome: 'busy', remainingMs: held.endsAt - this.now() } as const;
      }
      const fencingTokens = requests.map((request) => this.grant(request, this.held(request.key)));
      return { outcome: 'granted', fencingTokens } as const;
    });
  }

  async release({ key, ownerToken }: ReleaseRequest): Promise<ReleaseAnswer> {
    return this.inOneStep(() => {
      const held = this.held(key);
      if (held?.owner !== ownerToken) return { outcome: 'lost', resent: false, taken: held !== undefined } as const;
      this.connection.rows(DELETE, key);
      return { outcome: 'free' } as const;
    });
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return this.inOneStep(() =>
      requests.map(({ key, ownerToken, ttlMs, exact = false }) => {
        const held = this.held(key);
        if (held?.owner !== ownerToken) return held === undefined ? 'lost' : 'taken';
        const endsAt = this.now() + ttlMs;
        this.connection.rows(WRITE, key, ownerToken, exact ? endsAt : Math.max(endsAt, held.endsAt));
        return 0;
      }),
    );
  }

  async inspect(key: string): Promise<LockState> {
    return this.inOneStep(() => {
      const held = this.held(key);
      if (held === undefined) return { kind: 'free', holders: [], remainingMs: 0, waiting: 0 } as const;
      return { kind: 'exclusive', holders: [held.owner], remainingMs: held.endsAt - this.now(), waiting: 0 } as const;
    });
  }

  async force(key: string, only?: string): Promise<boolean> {
    return this.inOneStep(() => {
      const held = this.held(key);
      if (held === undefined || (only !== undefined && held.owner !== only)) return false;
      this.connection.rows(DELETE, key);
      return true;
    });
  }

  async close(): Promise<void> {}

  private held(key: string): Held | undefined {
    const [row] = this.connection.rows(FIND, key, this.now());
    return row === undefined ? undefined : { owner: String(row['owner']), endsAt: Number(row['ends_at']) };
  }

  /** Writes the row, and reserves fencing tokens; returns the first of them. Never shortens a lease. */
  private grant({ key, ownerToken, ttlMs, block }: AcquireRequest, held: Held | undefined): number {
    this.connection.rows(WRITE, key, ownerToken, Math.max(this.now() + ttlMs, held?.endsAt ?? 0));
    const [row] = this.connection.rows(COUNT, key, block);
    return Number(row?.['last']) - block + 1;
  }

  /** All statements or none. A failure is reported as one that may pass. */
  private inOneStep<T>(work: () => T): T {
    try {
      this.connection.rows('BEGIN IMMEDIATE');
      try {
        const result = work();
        this.connection.rows('COMMIT');
        return result;
      } catch (error) {
        this.connection.rows('ROLLBACK');
        throw error;
      }
    } catch (error) {
      throw new LockStoreError('The SQLite database failed.', true, { cause: error });
    }
  }
}
