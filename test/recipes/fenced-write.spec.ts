import { readFileSync } from 'node:fs';

import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockModule } from 'nestjs-distribute-lock';
import { DataSource } from 'typeorm';

import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { PricesService } from './fenced-write/prices.service.js';
import { Stock } from './fenced-write/stock.entity.js';
import { StockService } from './fenced-write/stock.service.js';
import { Warehouse } from './fenced-write/warehouse.js';
import { startSqlWith } from './support/sql.js';

const PAGE = readFileSync(new URL('../../docs/guide/fenced-writes.md', import.meta.url), 'utf8');

/** The statement of the page that begins like this. */
const statement = (start: string) =>
  [...PAGE.matchAll(/```sql\n([^]*?);\n```/g)].map(([, text]) => text).find((text) => text.startsWith(start)) ?? '';

describe('recipe: a fenced write to SQL', () => {
  const redis = useRedis();
  const warehouse = new Warehouse();
  const instances: INestApplicationContext[] = [];
  let database: DataSource;

  beforeAll(async () => {
    database = await startSqlWith(
      [Stock],
      'CREATE TABLE stock (sku TEXT PRIMARY KEY, amount INTEGER)',
      "INSERT INTO stock (sku, amount) VALUES ('book', 1)",
      'CREATE TABLE prices (shop TEXT PRIMARY KEY, amount INTEGER)',
      "INSERT INTO prices (shop, amount) VALUES ('north', 1), ('south', 1)",
      statement('ALTER TABLE'),
      statement('CREATE TABLE'),
    );
    for (let instance = 1; instance <= 2; instance += 1) {
      const module = await Test.createTestingModule({
        imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
        providers: [
          StockService,
          PricesService,
          { provide: Warehouse, useValue: warehouse },
          { provide: DataSource, useValue: database },
        ],
      }).compile();
      module.useLogger(false);
      instances.push(await module.init());
    }
  });

  afterAll(() => Promise.all(instances.map((app) => app.close())));

  beforeEach(() => void (warehouse.counting.length = 0));

  const recount = (instance: number) => instances[instance].get(StockService).recount('book');
  const recalculate = (instance: number, shop: string) => instances[instance].get(PricesService).recalculate(shop);
  const counting = (callers: number) => eventually(() => expect(warehouse.counting).toHaveLength(callers), 20_000);
  const amount = async () => (await database.query<{ amount: number }[]>('SELECT amount FROM stock'))[0]?.amount;
  const prices = () => database.query<unknown[]>('SELECT shop, amount FROM prices ORDER BY shop');

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

  it('accepts a later write of the same holder, or of the next one', async () => {
    const again = recount(0);
    await counting(1);
    warehouse.counting[0](30);
    await again;
    expect(await amount()).toBe(30);
  });

  it('refuses the transaction of an earlier holder at its row of fences, and admits other keys', async () => {
    const stale = recalculate(0, 'north');
    await counting(1);
    await redis.client.del(`${redis.prefix}prices:north`);
    const fresh = recalculate(1, 'north');
    await counting(2);
    const other = recalculate(0, 'south');
    await counting(3);

    warehouse.counting[1](20);
    await fresh; // sql.js has one connection, so one transaction at a time
    warehouse.counting[2](5);
    await other;
    warehouse.counting[0](10);
    await expect(stale).rejects.toThrow('a later holder of the lock');
    expect(await prices()).toEqual([
      { shop: 'north', amount: 20 },
      { shop: 'south', amount: 5 },
    ]);
  });

  it('refuses an earlier token by the statement of the page, and accepts the same one twice', async () => {
    const update = `${statement('UPDATE')} RETURNING sku`;
    const write = async (value: number, token: number) =>
      (await database.query<unknown[]>(update, [value, token, 'book', token])).length;
    await database.query('UPDATE stock SET fence = 0');
    expect([await write(1, 7), await write(1, 7), await write(2, 6), await write(3, 8)]).toEqual([1, 1, 0, 1]);
    expect(await amount()).toBe(3);
  });
});
