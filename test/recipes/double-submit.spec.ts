import { randomUUID } from 'node:crypto';

import { type INestApplication, ValidationPipe } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockModule } from 'nestjs-distribute-lock';
import request from 'supertest';

import { useRedis } from '../support/use-redis.js';
import { CheckoutController } from './double-submit/checkout.controller.js';
import { Orders } from './double-submit/orders.js';

describe('recipe: double submit', () => {
  const redis = useRedis();
  const orders = new Orders();
  const instances: INestApplication[] = [];

  beforeAll(async () => {
    for (let instance = 1; instance <= 2; instance += 1) {
      const module = await Test.createTestingModule({
        imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
        controllers: [CheckoutController],
        providers: [{ provide: Orders, useValue: orders }],
      }).compile();
      const app = module.createNestApplication();
      app.useGlobalPipes(new ValidationPipe());
      await app.listen(0, '127.0.0.1');
      instances.push(app);
    }
  });

  afterAll(() => Promise.all(instances.map((app) => app.close())));

  const checkout = (instance: number, body: object) =>
    request(instances[instance].getHttpServer()).post('/checkout').send(body);

  it('places one order; the other clicks get Retry-After, and the same order later', async () => {
    const body = { requestId: randomUUID(), cart: 'book' };
    const answers = await Promise.all([0, 1, 0, 1, 0].map((instance) => checkout(instance, body)));
    const refused = answers.filter(({ status }) => status === 409);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(refused).toHaveLength(4);
    for (const answer of refused) {
      expect(answer.body).toMatchObject({ statusCode: 409, code: 'LOCK_CONTENDED' });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    }
    const again = await checkout(1, body);
    expect([again.status, again.body]).toEqual([201, orders.placed.get(body.requestId)]);
    expect(orders.placed.size).toBe(1);
  });

  it('acquires no lock for an invalid request', async () => {
    expect((await checkout(0, { requestId: '1', cart: 'book' })).status).toBe(400);
    expect(await redis.keys()).toEqual([]);
  });
});
