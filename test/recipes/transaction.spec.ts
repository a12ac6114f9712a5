import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockModule } from 'nestjs-distribute-lock';
import { DataSource } from 'typeorm';

import { useRedis } from '../support/use-redis.js';
import { startSql } from './support/sql.js';
import { AccountsService } from './transaction/accounts.service.js';

/** See also test/nest/transactional.spec.ts, with a decorator for transactions. */
describe('recipe: a lock around a transaction', () => {
  const redis = useRedis();
  const instances: INestApplicationContext[] = [];
  let database: DataSource;

  beforeAll(async () => {
    database = await startSql(
      'CREATE TABLE accounts (id TEXT, balance INTEGER)',
      "INSERT INTO accounts VALUES ('acme', 0)",
    );
    for (let instance = 1; instance <= 2; instance += 1) {
      const module = await Test.createTestingModule({
        imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
        providers: [AccountsService, { provide: DataSource, useValue: database }],
      }).compile();
      instances.push(await module.init());
    }
  });

  afterAll(() => Promise.all(instances.map((app) => app.close())));

  const accounts = (instance: number) => instances[instance % 2].get(AccountsService);
  const balance = async () => (await database.query<{ balance: number }[]>('SELECT balance FROM accounts'))[0]?.balance;

  it('loses no update of any instance', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, at) => accounts(at).deposit('acme', 10)));
    expect(await balance()).toBe(200);
    await Promise.all(Array.from({ length: 10 }, (_, at) => accounts(at).withdraw('acme', 10)));
    expect(await balance()).toBe(100);
  });

  it('releases the lock after a failed transaction', async () => {
    await expect(accounts(0).withdraw('acme', 1_000)).rejects.toThrow('not enough');
    await accounts(1).withdraw('acme', 100);
    expect(await balance()).toBe(0);
  });
});
