import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { type DemoInstance, startTwoDemos } from './support/demo-instance.js';

// The tests start and end processes, and the machine may be busy.
import.meta.jest.setTimeout(60_000);

describe('a client that leaves', () => {
  const redis = useRedis();
  let alice: DemoInstance;
  let bob: DemoInstance;

  beforeAll(async () => {
    [alice, bob] = await startTwoDemos({ REDIS_URL: redis.url, DEMO_PREFIX: redis.prefix });
  });

  const runsOfTheHandler = (demo: DemoInstance) => demo.output.split('under the lock').length - 1;

  it('while it waits for the lock: the handler never runs', async () => {
    const key = `${redis.prefix}post_test_gone`;
    await redis.client.set(key, 'x', 'PX', 60_000, 'NX');
    const client = new AbortController();
    const hungUp = alice.post('/post-test/wait', { channel: 'gone' }, { signal: client.signal });
    await eventually(() => expect(alice.output).toContain('before the lock'));

    client.abort();
    await expect(hungUp).rejects.toThrow();
    await eventually(() => expect(alice.output).toContain('ended without a result'));
    await redis.client.del(key);

    expect((await alice.post('/post-test/wait', { channel: 'gone', workMs: 300 })).status).toBe(201);
    expect(runsOfTheHandler(alice)).toBe(1);
    expect(await redis.client.exists(key)).toBe(0);
  });

  it('while the handler runs: it continues, and holds the lock until its end', async () => {
    const client = new AbortController();
    const hungUp = bob.post('/post-test', { channel: 'busy', workMs: 1500 }, { signal: client.signal });
    await eventually(() => expect(runsOfTheHandler(bob)).toBe(1));

    client.abort();
    await expect(hungUp).rejects.toThrow();

    expect((await alice.post('/post-test', { channel: 'busy', workMs: 0 })).status).toBe(409);
    await eventually(() => expect(bob.output).toContain('after the release'));
    expect((await alice.post('/post-test', { channel: 'busy', workMs: 0 })).status).toBe(201);
  });
});
