import { createRequire } from 'node:module';

import type { SqliteConnection } from './sqlite-lock-store.js';

interface Statement {
  bind(values: readonly (string | number)[]): void;
  step(): boolean;
  getAsObject(): Record<string, string | number>;
  free(): void;
}

interface SqlJs {
  readonly Database: new () => { prepare(sql: string): Statement };
}

/** A new database in memory. */
export async function openSqlite(): Promise<SqliteConnection> {
  const load = createRequire(import.meta.url)('sql.js') as () => Promise<SqlJs>;
  const database = new (await load()).Database();
  return {
    rows(sql, ...values) {
      const statement = database.prepare(sql);
      try {
        statement.bind(values);
        const rows: Record<string, string | number>[] = [];
        while (statement.step()) rows.push(statement.getAsObject());
        return rows;
      } finally {
        statement.free();
      }
    },
  };
}
