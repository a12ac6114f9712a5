import { CacheModule } from '@nestjs/cache-manager';
import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Keyv } from 'keyv';
import { lockChannels, LockModule } from 'nestjs-distribute-lock';

import { useRedis } from '../support/use-redis.js';
import { Database } from './cache/database.js';
import { ReportsService } from './cache/reports.service.js';

describe('recipe: compute once, and let the others read the cache', () => {
  const redis = useRedis();
  const database = new Database();
  const instances: INestApplicationContext[] = [];

  beforeAll(async () => {
    for (let instance = 1; instance <= 2; instance += 1) {
      const module = await Test.createTestingModule({
        imports: [
          LockModule.forRoot({ connection: redis.url, prefix: redis.prefix }),
          CacheModule.register({ stores: [new Keyv({ store: sharedCache(), useKeyPrefix: false })] }),
        ],
        providers: [ReportsService, { provide: Database, useValue: database }],
      }).compile();
      instances.push(await module.init());
    }
  });

  afterAll(() => Promise.all(instances.map((app) => app.close())));

  /** The Redis of the test as a cache: what `@keyv/redis` does. */
  const sharedCache = () => ({
    opts: {},
    get: async (key: string) => (await redis.client.get(`${redis.prefix}cache:${key}`)) ?? undefined,
    set: (key: string, value: string, ttl: number) => redis.client.set(`${redis.prefix}cache:${key}`, value, 'PX', ttl),
    delete: async (key: string) => (await redis.client.del(`${redis.prefix}cache:${key}`)) > 0,
    clear: async () => undefined,
    on: () => undefined,
  });

  const report = (call: number, month: string) => instances[call % 2].get(ReportsService).report(month);
  const reports = (count: number, month: string) =>
    Promise.all(Array.from({ length: count }, (_, call) => report(call, month)));

  it('computes once for 200 callers of two instances', async () => {
    expect(new Set(await reports(200, 'may'))).toEqual(new Set(['the sum of may']));
    expect(database.sums).toEqual(['may']);
  });

  it('acquires no lock when the cache has the value', async () => {
    const acquired: unknown[] = [];
    const note = (message: unknown) => void acquired.push(message);
    lockChannels.acquire.start.subscribe(note);
    await report(0, 'may');
    lockChannels.acquire.start.unsubscribe(note);
    expect([acquired, database.sums]).toEqual([[], ['may']]);
  });

  it('computes different values at the same time', async () => {
    database.sums.length = 0;
    await Promise.all([reports(20, 'june'), reports(20, 'july')]);
    expect(database.sums.toSorted()).toEqual(['july', 'june']);
  });

  it('lets the next caller compute after a failure, and gives the error to its caller alone', async () => {
    database.sums.length = 0;
    database.gate = async () => {
      if (database.sums.length === 1) throw new Error('query failed');
    };
    const ends = await Promise.allSettled(Array.from({ length: 10 }, (_, call) => report(call, 'august')));
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(database.sums).toEqual(['august', 'august']);
  });
});
