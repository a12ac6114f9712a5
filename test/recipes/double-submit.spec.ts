import { randomUUID } from 'node:crypto';

import request from 'supertest';

import { useRedis } from '../support/use-redis.js';
import { CheckoutController } from './double-submit/checkout.controller.js';
import { Orders } from './double-submit/orders.js';
import { twoInstances } from './support/http-instances.js';

describe('recipe: double submit', () => {
  const redis = useRedis();
  const orders = new Orders();
  const instances = twoInstances(redis, {
    controllers: [CheckoutController],
    providers: [{ provide: Orders, useValue: orders }],
  });

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
