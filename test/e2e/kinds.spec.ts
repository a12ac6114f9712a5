import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { type DemoInstance, startTwoDemos } from './support/demo-instance.js';

// The tests start and end processes, and the machine may be busy.
import.meta.jest.setTimeout(60_000);

describe('other kinds of locks in two instances of the demo', () => {
  const redis = useRedis();
  let alice: DemoInstance;
  let bob: DemoInstance;

  beforeAll(async () => {
    [alice, bob] = await startTwoDemos({ REDIS_URL: redis.url, DEMO_PREFIX: redis.prefix });
  });

  const valueOf = (key: string) => redis.client.get(redis.prefix + key);

  it('let both read at the same time, and one write after them', async () => {
    const reads = [alice.get('/catalog/1?workMs=1500'), bob.get('/catalog/1?workMs=1500')];
    await eventually(async () => expect(await valueOf('catalog:1')).toBe('readers'));
    await eventually(async () => expect(await redis.client.zcard(`r1:{${redis.prefix}catalog:1}`)).toBe(2));
    const written = await bob.put('/catalog/1', { workMs: 0 });
    const read = await Promise.all(reads);
    expect([...read, written].map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const { body } of read) {
      expect(Number(written.body['fencingToken'])).toBeGreaterThan(Number(body['fencingToken']));
    }
    expect(await valueOf('catalog:1')).toBeNull();
  });

  it('make two exports at a time, and refuse the third at once', async () => {
    const body = { workMs: 4_000 };
    const two = [alice.post('/exports', body), bob.post('/exports', body)];
    await eventually(async () => expect(await redis.client.zcard(`s1:{${redis.prefix}exports}`)).toBe(2));
    const third = await alice.post('/exports', body);
    expect(third.status).toBe(409);
    expect(third.body).toMatchObject({ code: 'LOCK_CONTENDED' });
    expect((await Promise.all(two)).map(({ status }) => status)).toEqual([201, 201]);
    expect((await bob.post('/exports', { workMs: 0 })).status).toBe(201);
  });

  it('send one reminder in three seconds, from any instance', async () => {
    const sentAt = performance.now();
    const answers = [await alice.post('/reminders/7', {}), await bob.post('/reminders/7', {})];
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, { sent: true }],
      [200, { sent: false }],
    ]);
    // The work has ended long before; the key stays until its ttl has passed.
    await eventually(async () => expect(await valueOf('reminder:7')).toBeNull());
    expect(performance.now() - sentAt).toBeGreaterThan(2_990);
    expect((await bob.post('/reminders/7', {})).body).toEqual({ sent: true });
  });

  it('transfer in opposite directions between two accounts, one after the other', async () => {
    const [there, back] = [
      { from: 1, to: 2, workMs: 200 },
      { from: 2, to: 1, workMs: 200 },
    ];
    const transfers = await Promise.all(
      [alice, bob].flatMap((demo) => [demo.post('/transfers', there), demo.post('/transfers', back)]),
    );
    expect(transfers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const numbers = transfers.map(({ body }) => body['fencingTokens'] as Record<string, number>);
    for (const key of ['account:1', 'account:2']) {
      expect(new Set(numbers.map((each) => each[key])).size).toBe(4);
      expect(await valueOf(key)).toBeNull();
    }
  });

  it('keep neither account when one of them stays in use', async () => {
    const redisKey = `${redis.prefix}account:6`;
    await redis.client.set(redisKey, 'a foreign client', 'PX', 60_000);
    const refused = await alice.post('/transfers', { from: 5, to: 6 });
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({ code: 'LOCK_WAIT_TIMEOUT' });
    expect(await valueOf('account:5')).toBeNull();
    await redis.client.del(redisKey);
  });
});
