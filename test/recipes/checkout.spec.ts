import request from 'supertest';

import { useRedis } from '../support/use-redis.js';
import { Orders } from './checkout/orders.js';
import { SeatsController } from './checkout/seats.controller.js';
import { twoInstances } from './support/http-instances.js';

describe('recipe: hold a seat across requests', () => {
  const redis = useRedis();
  const orders = new Orders();
  const instances = twoInstances(redis, {
    controllers: [SeatsController],
    providers: [{ provide: Orders, useValue: orders }],
  });

  const post = (instance: number, path: string, body: object = {}) =>
    request(instances[instance].getHttpServer()).post(`/seats/${path}`).send(body);

  async function reserved(seat: string): Promise<{ ticket: string }> {
    const { status, body } = await post(0, `${seat}/reserve`);
    expect(status).toBe(201);
    return body as { ticket: string };
  }

  it('keeps a seat for one customer, who pays on another instance', async () => {
    const reservation = await reserved('1A');
    expect(await post(1, '1A/reserve')).toMatchObject({ status: 409, body: { code: 'LOCK_CONTENDED' } });

    const { status, body } = await post(1, 'confirm', reservation);
    expect([status, body]).toEqual([201, { seat: 'seat:1A', fencingToken: expect.any(Number) }]);
    expect(await post(0, '1A/reserve')).toMatchObject({ status: 409, body: { message: 'The seat is sold.' } });
    expect(await post(0, 'confirm', reservation)).toMatchObject({
      status: 410,
      body: { code: 'RESERVATION_OVER', reason: 'used' },
    });
  });

  it('frees a cancelled seat at once', async () => {
    const reservation = await reserved('1B');
    expect((await post(1, 'cancel', reservation)).body).toEqual({ cancelled: true });
    expect((await post(1, 'cancel', reservation)).body).toEqual({ cancelled: false });
    expect(await post(1, 'confirm', reservation)).toMatchObject({ status: 410, body: { reason: 'released' } });
    await post(0, 'cancel', await reserved('1B'));
  });

  it('refuses a ticket whose time has passed', async () => {
    const reservation = await reserved('1C');
    // What the end of the ttl does, ten minutes later.
    await redis.client.del(...(await redis.keys()), ...(await redis.client.keys(`t1:${redis.prefix}*`)));
    expect(await post(1, 'confirm', reservation)).toMatchObject({ status: 410, body: { reason: 'expired' } });
    await post(0, 'cancel', await reserved('1C'));
  });

  it('refuses text that is not a ticket, and shows neither key nor ticket', async () => {
    const { ticket } = await reserved('1D');
    for (const path of ['confirm', 'cancel']) {
      const { status, text } = await post(1, path, { ticket: `${ticket}x` });
      expect(status).toBe(400);
      expect(text).not.toContain(ticket);
    }
    await post(1, 'cancel', { ticket });
    const { text } = await post(1, 'confirm', { ticket });
    expect(text).not.toMatch(new RegExp(`1D|${ticket}`));
  });
});
