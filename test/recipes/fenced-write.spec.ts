import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockModule } from 'nestjs-distribute-lock';
import { DataSource } from 'typeorm';

import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { StockService } from './fenced-write/stock.service.js';
import { Warehouse } from './fenced-write/warehouse.js';
import { startSql } from './support/sql.js';

describe('recipe: a fenced write to SQL', () => {
  const redis = useRedis();
  const warehouse = new Warehouse();
  const instances: INestApplicationContext[] = [];
  let database: DataSource;

  beforeAll(async () => {
    database = await startSql(
      'CREATE TABLE stock (sku TEXT PRIMARY KEY, amount INTEGER, fence BIGINT NOT NULL DEFAULT 0)',
      "INSERT INTO stock (sku, amount) VALUES ('book', 1)",
    );
    for (let instance = 1; instance <= 2; instance += 1) {
      const module = await Test.createTestingModule({
        imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
        providers: [
          StockService,
          { provide: Warehouse, useValue: warehouse },
          { provide: DataSource, useValue: database },
        ],
      }).compile();
      module.useLogger(false);
      instances.push(await module.init());
    }
  });

  afterAll(() => Promise.all(instances.map((app) => app.close())));

  const recount = (instance: number) => instances[instance].get(StockService).recount('book');
  const counting = (callers: number) => eventually(() => expect(warehouse.counting).toHaveLength(callers));
  const amount = async () => (await database.query<{ amount: number }[]>('SELECT amount FROM stock'))[0]?.amount;

  it('accepts the write of the holder, and refuses one of an earlier holder', async () => {
    const stale = recount(0);
    await counting(1);
    await redis.client.del(`${redis.prefix}stock:book`); // the lease ends without the knowledge of its holder
    const fresh = recount(1);
    await counting(2);

    warehouse.counting[1](20);
    await fresh;
    expect(await amount()).toBe(20);

    warehouse.counting[0](10);
    await expect(stale).rejects.toThrow('a later holder of the lock');
    expect(await amount()).toBe(20);
  });

  it('accepts several writes of one holder', async () => {
    const again = recount(0);
    await counting(3);
    warehouse.counting[2](30);
    await again;
    expect(await amount()).toBe(30);
  });
});
