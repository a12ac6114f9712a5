import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { LockModule } from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { Gateway } from './migrating/gateway.js';
import { mutexModule } from './migrating/mutex.module.js';
import { PaymentsService } from './migrating/payments.service.js';
import { SeatsService } from './migrating/seats.service.js';
import { PaymentsService as WithRedisSemaphore } from './migrating/with-redis-semaphore.js';
import { PaymentsService as WithRedlock } from './migrating/with-redlock.js';
import { PaymentsService as WithSetNx } from './migrating/with-set-nx.js';

type OldService = new (redis: Redis, gateway: Gateway) => { pay(orderId: string): Promise<string> };

describe.each<[string, OldService, string]>([
  ['redlock', WithRedlock, 'lock:'],
  ['redis-semaphore', WithRedisSemaphore, 'mutex:'],
  ['a hand-written SET NX', WithSetNx, 'lock:'],
])('recipe: migrating from %s', (_from, OldPayments, prefix) => {
  const gateway = new Gateway();
  let redis: Redis;
  let app: INestApplicationContext;

  beforeAll(async () => {
    const server = await startRedisServer();
    redis = new Redis(server.url);
    const module = await Test.createTestingModule({
      imports: [prefix === 'mutex:' ? mutexModule(server.url) : LockModule.forRoot({ connection: server.url })],
      providers: [PaymentsService, SeatsService, { provide: Gateway, useValue: gateway }],
    }).compile();
    app = await module.init();
  });

  afterAll(async () => {
    redis.disconnect();
    await app.close();
  });

  const old = () => new OldPayments(redis, gateway);
  const key = `${prefix}payment:42`;

  it('shares one key, with one holder at a time', async () => {
    const newPayments = app.get(PaymentsService);
    const calls = Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? old() : newPayments).pay('42'));
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['charged']));
    expect(gateway).toMatchObject({ charged: 10, overlaps: 0 });
    expect(await redis.exists(key)).toBe(0);
  });

  it('sells a seat with acquire and release, and leaves it free', async () => {
    const seats = app.get(SeatsService);
    expect(await Promise.all([seats.sell('42'), seats.sell('42')])).toEqual(['charged', 'charged']);
    expect(gateway.overlaps).toBe(0);
    expect(await redis.exists(`${prefix}seat:42`)).toBe(0);
  });

  it.each([
    ['old code while new code holds it', () => app.get(PaymentsService), old],
    ['new code while old code holds it', old, () => app.get(PaymentsService)],
  ])('keeps out %s', async (_what, holder, other) => {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    gateway.gate = () => opened;
    const held = holder().pay('42');
    await eventually(() => expect(gateway.inside).toBe(1));
    const token = await redis.get(key);

    const waiting = other().pay('42');
    await new Promise((resolve) => void setTimeout(resolve, 300)); // long enough for more than one attempt
    expect([gateway.inside, await redis.get(key)]).toEqual([1, token]);

    open();
    expect(await Promise.all([held, waiting])).toEqual(['charged', 'charged']);
    expect(gateway.overlaps).toBe(0);
  });
});
