import { ClsPluginTransactional } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { type DynamicModule, Module } from '@nestjs/common';
import { ClsModule } from 'nestjs-cls';
import { DataSource } from 'typeorm';

import { onCleanup } from '../../support/cleanup.js';

/** The SQL statements that the database received. */
export interface StatementLog {
  push(statement: string): unknown;
}

/** An in-process SQL database with one table. Records every statement in `log` when it is sent. */
export async function startDatabase(log: () => StatementLog): Promise<DataSource> {
  const ignore = (): void => undefined;
  const database = new DataSource({
    type: 'sqljs',
    logging: true,
    logger: {
      logQuery: (statement) => void log().push(statement.split(/ \(| VALUES/)[0] ?? ''),
      ...{ logQueryError: ignore, logQuerySlow: ignore, logSchemaBuild: ignore, logMigration: ignore, log: ignore },
    },
  });
  await database.initialize();
  await database.query('CREATE TABLE orders (id TEXT)');
  onCleanup(() => database.destroy());
  return database;
}

@Module({})
class Database {}

/** Adds support for `@Transactional()` to an application. */
export function transactions(database: DataSource): DynamicModule[] {
  const module: DynamicModule = {
    module: Database,
    providers: [{ provide: DataSource, useValue: database }],
    exports: [DataSource],
  };
  const adapter = new TransactionalAdapterTypeOrm({ dataSourceToken: DataSource });
  const plugin = new ClsPluginTransactional({ imports: [module], adapter });
  return [module, ClsModule.forRoot({ global: true, plugins: [plugin] })];
}
