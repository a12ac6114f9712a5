/** Writes with real fencing tokens, by each client of SQL, into SQLite. Prints what was refused, as JSON. */
import { createLocks } from 'distribute-lock';
import { drizzle } from 'drizzle-orm/sql-js';
import { Kysely, SqliteDialect } from 'kysely';
import initSqlJs, { type BindParams, type Database } from 'sql.js';

import { writeWithDrizzle } from './drizzle.js';
import { type Schema, writeWithKysely } from './kysely.js';
import { writeWithMongoose } from './mongoose.js';

type Write = (
  sku: string,
  amount: number,
  fencingToken: number,
) => Promise<void>;

const REFUSED = 'a later holder of the lock has written already';
const TABLE =
  'CREATE TABLE stock (sku TEXT PRIMARY KEY, amount INTEGER NOT NULL, fence BIGINT NOT NULL DEFAULT 0)';

const sql = await initSqlJs();
const locks = await createLocks({ connection: process.env['REDIS_URL'] });

/** What the dialect of Kysely expects of `better-sqlite3`, for sql.js. */
const asSqlite = (database: Database) => ({
  close: () => database.close(),
  prepare: (text: string) => ({
    reader: /^select/i.test(text),
    all: (parameters: readonly unknown[]) => [
      database.exec(text, parameters as BindParams),
    ],
    run: (parameters: readonly unknown[]) => {
      database.run(text, parameters as BindParams);
      return { changes: database.getRowsModified(), lastInsertRowid: 0 };
    },
    iterate: (): IterableIterator<unknown> => [].values(),
  }),
});

async function tokenOf(key: string): Promise<number> {
  return locks.withLock(key, ({ fencingToken }) => fencingToken);
}

async function outcome(write: Promise<void>): Promise<string> {
  return write.then(
    () => 'written',
    (error: unknown) =>
      error instanceof Error && error.message === REFUSED
        ? 'refused'
        : String(error),
  );
}

/** The later holder writes twice, then the earlier one comes too late. */
async function report(clientOf: (database: Database) => Write) {
  const database = new sql.Database();
  database.run(TABLE);
  database.run(
    "INSERT INTO stock (sku, amount) VALUES ('book', 1), ('pen', 1)",
  );
  const write = clientOf(database);
  const earlier = await tokenOf('stock:book');
  const later = await tokenOf('stock:book');
  const outcomes = [
    await outcome(write('book', 20, later)),
    await outcome(write('book', 20, later)),
    await outcome(write('book', 10, earlier)),
  ];
  return {
    outcomes,
    rows: database.exec('SELECT sku, amount FROM stock ORDER BY sku')[0]
      ?.values,
  };
}

const kysely = (database: Database): Write => {
  const client = new Kysely<Schema>({
    dialect: new SqliteDialect({ database: asSqlite(database) }),
  });
  return (...values) => writeWithKysely(client, ...values);
};

const drizzled = (database: Database): Write => {
  const client = drizzle(database);
  return (...values) => writeWithDrizzle(client, ...values);
};

try {
  const compiled = typeof writeWithMongoose === 'function';
  console.log(
    JSON.stringify({
      kysely: await report(kysely),
      drizzle: await report(drizzled),
      compiled,
    }),
  );
} finally {
  await locks.close();
}
