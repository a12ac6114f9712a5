import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import request from 'supertest';

import { startRedisServer } from '../support/redis-server.js';
import { Database } from './readme/database.js';
import { Invoices } from './readme/invoices.js';
import { StockService } from './readme/stock.service.js';

describe('The examples of the README', () => {
  let app: INestApplication;
  let database: Database;

  beforeAll(async () => {
    process.env['REDIS_URL'] = (await startRedisServer()).url;
    const { AppModule } = await import('./readme/app.module.js');
    app = (await Test.createTestingModule({ imports: [AppModule] }).compile()).createNestApplication();
    await app.listen(0, '127.0.0.1');
    database = app.get(Database);
  });

  afterAll(async () => app.close());

  const post = (path: string, body: object) => request(app.getHttpServer()).post(path).send(body);

  it('respond 201 to the first request, and 409 with Retry-After to the other', async () => {
    let open = (): void => undefined;
    database.gate = new Promise((resolve) => (open = resolve));
    const payment = async () => {
      const answer = await post('/payments', { orderId: '42' });
      open(); // the refused request settles first
      return answer;
    };
    const answers = await Promise.all([payment(), payment()]);
    const refused = answers.find(({ status }) => status === 409);
    expect(answers.map(({ status }) => status).sort((one, other) => one - other)).toEqual([201, 409]);
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(database.written.get('42')).toEqual(expect.any(Number));
  });

  it('respond 400 to a request without the value for the key', async () => {
    expect((await post('/post-test', { channel: 'web' })).text).toBe('published on web');
    expect((await post('/post-test', {})).status).toBe(400);
  });

  it('lock providers, by LockService and by decorator', async () => {
    const stock = app.get(StockService);
    await stock.reserve('a');
    await stock.count(new AbortController().signal);
    expect(await stock.tryCount()).toBe('free');
    expect(database.written.get('count')).toBeGreaterThan(0);

    const invoices = app.get(Invoices);
    expect(await invoices.settle({ id: '7' })).toEqual({ charged: '7' });
    await invoices.send({ id: '8' });
    await invoices.nightly(); // by hand, so it is no tick
    expect([...database.written.keys()].sort()).toEqual(['42', '7', '8', 'a', 'count', 'report']);
  });
});
