import { ClsPluginTransactional } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { type DynamicModule, Module } from '@nestjs/common';
import { ClsModule } from 'nestjs-cls';
import { DataSource } from 'typeorm';

import { onCleanup } from '../../support/cleanup.js';

/** What the database was told, in words of SQL. */
export interface StatementLog {
  push(statement: string): unknown;
}

/** An SQL database inside the process, with one table; every statement goes to `log` when it is sent. */
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

/** Brings `@Transactional()` into an application. */
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
