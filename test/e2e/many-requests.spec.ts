import { useRedis } from '../support/use-redis.js';
import { startDemo } from './support/demo-instance.js';

// The test starts a process, and the machine may be busy.
import.meta.jest.setTimeout(60_000);

describe('30 concurrent requests to the demo', () => {
  const redis = useRedis();

  it('print no warning about listeners', async () => {
    const demo = await startDemo({ REDIS_URL: redis.url, DEMO_PREFIX: redis.prefix });
    const channels = Array.from({ length: 30 }, (_, i) => demo.post('/post-test', { channel: `c${i}`, workMs: 1_500 }));
    const readers = Array.from({ length: 30 }, () => demo.get('/catalog/1?workMs=1500'));
    const unlocked = Array.from({ length: 30 }, () => demo.post('/unlocked', { workMs: 1_500 }));

    const statuses = async (answers: typeof channels) =>
      new Set((await Promise.all(answers)).map(({ status }) => status));
    expect([...(await statuses(channels)), ...(await statuses(readers)), ...(await statuses(unlocked))]).toEqual([
      201, 200, 204,
    ]);
    expect(demo.output).not.toMatch(/Warning/);
  });
});
