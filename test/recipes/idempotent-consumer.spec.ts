import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockModule } from 'nestjs-distribute-lock';
import { DataSource } from 'typeorm';

import { useRedis } from '../support/use-redis.js';
import { PaymentsConsumer } from './idempotent-consumer/payments.consumer.js';
import { startSql } from './support/sql.js';

describe('recipe: idempotent consumer', () => {
  const redis = useRedis();
  const instances: INestApplicationContext[] = [];
  let database: DataSource;

  beforeAll(async () => {
    database = await startSql(
      'CREATE TABLE inbox (id TEXT PRIMARY KEY)',
      'CREATE TABLE accounts (id TEXT PRIMARY KEY, balance INTEGER)',
      "INSERT INTO accounts VALUES ('acme', 0)",
    );
    for (let instance = 1; instance <= 2; instance += 1) {
      const module = await Test.createTestingModule({
        imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
        providers: [PaymentsConsumer, { provide: DataSource, useValue: database }],
      }).compile();
      instances.push(await module.init());
    }
  });

  afterAll(() => Promise.all(instances.map((app) => app.close())));

  const deliver = (instance: number, messageId: string) =>
    instances[instance].get(PaymentsConsumer).handle({ messageId, account: 'acme', amount: 10 });

  it('books a message once for any number of deliveries to any instance', async () => {
    await Promise.all([0, 1, 1, 0, 1].map((instance) => deliver(instance, 'm-1')));
    await deliver(0, 'm-1');
    expect(await database.query('SELECT balance FROM accounts')).toEqual([{ balance: 10 }]);

    await deliver(1, 'm-2');
    expect(await database.query('SELECT balance FROM accounts')).toEqual([{ balance: 20 }]);
  });
});
