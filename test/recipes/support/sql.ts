import { DataSource, type DataSourceOptions } from 'typeorm';

import { onCleanup } from '../../support/cleanup.js';

/** An in-process SQL database; it ends with the spec file. */
export async function startSql(...statements: readonly string[]): Promise<DataSource> {
  return startSqlWith([], ...statements);
}

/** The same, with entities of TypeORM. */
export async function startSqlWith(
  entities: DataSourceOptions['entities'],
  ...statements: readonly string[]
): Promise<DataSource> {
  const database = new DataSource({ type: 'sqljs', entities });
  await database.initialize();
  onCleanup(() => database.destroy());
  for (const statement of statements) await database.query(statement);
  return database;
}
