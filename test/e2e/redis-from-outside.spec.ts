import type { Redis } from 'ioredis';

import { eventually } from '../support/eventually.js';
import { startMonitor } from '../support/monitor.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { type DemoInstance, startTwoDemos } from './support/demo-instance.js';

const KEY = 'lock:post_test_web';

// The tests start and end processes, and the machine may be busy.
import.meta.jest.setTimeout(60_000);

describe('the demo on a private Redis', () => {
  let redis: RedisServer;
  let alice: DemoInstance;
  let bob: DemoInstance;

  beforeAll(async () => {
    redis = await startRedisServer();
    [alice, bob] = await startTwoDemos({ REDIS_URL: redis.url });
  });

  const ask = <T>(commands: (client: Redis) => Promise<T>) => redis.run(commands);

  it('keeps the lock under its documented key while the work lasts, and only then', async () => {
    const work = alice.post('/post-test', { channel: 'web', workMs: 2000 });
    await eventually(async () => expect(await ask((client) => client.type(KEY))).toBe('string'));

    const leftMs = await ask((client) => client.pttl(KEY));

    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(10_000);
    expect((await work).status).toBe(201);
    expect(await ask((client) => client.exists(KEY))).toBe(0);
  });

  it.each([
    ['without a channel', {}],
    ['whose channel is an object', { channel: { name: 'web' } }],
    ['whose channel is an array', { channel: ['web'] }],
    ['whose channel is empty', { channel: '' }],
    ['whose channel is 2 KiB long', { channel: 'a'.repeat(2048) }],
    ['that is an array', [{ channel: 'web' }]],
    ['that is no JSON', '{"channel":'],
  ])('rejects a body %s without a command to Redis', async (_, body) => {
    const { status, commands } = await commandsOf(() => alice.post('/post-test', body));
    expect(status).toBe(400);
    expect(commands).toEqual([]);
    expect(await ask((client) => client.keys('*post_test*'))).toEqual([]);
  });

  it('sends commands for a body with a channel', async () => {
    const { status, commands } = await commandsOf(() => alice.post('/post-test', { channel: 'seen', workMs: 0 }));
    expect(status).toBe(201);
    expect(commands).not.toEqual([]);
  });

  /** The commands with a key of the route, until its answer. The jobs of the demo send others at any time. */
  async function commandsOf(request: () => Promise<{ status: number }>) {
    const monitor = await startMonitor(redis.port);
    const { status } = await request();
    await ask((client) => client.echo('the answer is here'));
    const texts = () => monitor.commands().map(({ args }) => args.join(' '));
    await eventually(() => expect(texts()).toContain('echo the answer is here'));
    monitor.close();
    return { status, commands: texts().filter((text) => text.includes('post_test')) };
  }

  it('responds 503 while Redis is down, and recovers', async () => {
    await redis.kill();

    const answers = await Promise.all([alice.post('/post-test', { channel: 'web' }), bob.post('/reports/1', {})]);

    for (const { status, text } of answers) {
      expect(status).toBe(503);
      expect(text).toContain('LOCK_UNAVAILABLE');
    }
    await redis.restart();
    await eventually(async () => {
      expect((await alice.post('/post-test', { channel: 'web', workMs: 0 })).status).toBe(201);
      expect((await bob.post('/post-test', { channel: 'web', workMs: 0 })).status).toBe(201);
    }, 15_000);
  });

  it('responds 503 while Redis does not respond', async () => {
    redis.pause();
    try {
      const answer = await alice.post('/post-test', { channel: 'web' });

      expect(answer.status).toBe(503);
    } finally {
      redis.resume();
    }
    await eventually(async () => {
      expect((await alice.post('/post-test', { channel: 'web', workMs: 0 })).status).toBe(201);
    }, 15_000);
  });
});
