import { Transactional, TransactionHost } from '@nestjs-cls/transactional';
import type { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DistributeLock, LockModule } from 'nestjs-distribute-lock';

import { RecordingStore } from './support/recording-store.js';
import { parentProcess } from '../support/parent-process.js';
import { startDatabase, transactions } from './support/database.js';

@Injectable()
class Orders {
  constructor(private readonly database: TransactionHost<TransactionalAdapterTypeOrm>) {}

  // #region above
  @DistributeLock({ key: 'order:#{arg0}' })
  @Transactional()
  async above(id: string): Promise<void> {
    await this.database.tx.query('INSERT INTO orders (id) VALUES (?)', [id]);
    if (id === 'broken') throw new Error('no such order');
  }
  // #endregion

  @Transactional()
  @DistributeLock({ key: 'order:#{arg0}' })
  async below(id: string): Promise<void> {
    await this.database.tx.query('INSERT INTO orders (id) VALUES (?)', [id]);
  }
}

/** Two classes that extend another one. */
class Invoices extends Orders {}
class Refunds extends Orders {}

const store = new RecordingStore();
const database = await startDatabase(() => store.commands);
const warnings: string[] = [];
const module = await Test.createTestingModule({
  imports: [LockModule.forRoot({ connection: store }), ...transactions(database)],
  providers: [Orders, Invoices, Refunds],
})
  .setLogger({ log() {}, error() {}, warn: (text: string) => warnings.push(text) })
  .compile();
const orders = (await module.init()).get(Orders);

async function stepsOf(call: () => Promise<unknown>): Promise<string[]> {
  store.commands.length = 0;
  await call().catch((error: unknown) => store.commands.push(String(error)));
  return [...store.commands];
}

const seen = {
  above: await stepsOf(() => orders.above('7')),
  failing: await stepsOf(() => orders.above('broken')),
  below: await stepsOf(() => orders.below('8')),
  warnings,
  rows: await database.query<unknown>('SELECT id FROM orders'),
};
parentProcess().send('seen', seen);
