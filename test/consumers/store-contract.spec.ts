import { packLibraries } from '../support/pack-library.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { PlainConsumer } from './plain-consumer.js';

/** Mostly npm with its registry. */
const LIMIT_MS = 240_000;
const RULES = 48;

describe('A repository of a store that installs the tarball', () => {
  let redis: RedisServer;
  let consumer: PlainConsumer;

  beforeAll(async () => {
    const [packed, server] = await Promise.all([packLibraries(), startRedisServer()]);
    redis = server;
    consumer = await PlainConsumer.install('store-contract', packed);
  }, LIMIT_MS);

  it(
    'runs each rule as a test, against memory and Redis',
    async () => {
      const child = consumer.shell('node --test --test-reporter=tap rules.test.js', { REDIS_URL: redis.url });
      expect(await child.exited).toEqual({ code: 0, signal: null });
      expect(child.output).toContain(`# tests ${2 * RULES}\n`);
      expect(child.output).toContain(`# pass ${2 * RULES - 1}\n`);
      expect(child.output).toContain('# skipped 1\n');
      expect(child.output).toContain('# SKIP lacks renewOne');
    },
    LIMIT_MS,
  );

  it(
    'finds no fault in the store of this package, and a planted one in another',
    async () => {
      const { child } = consumer.start({ REDIS_URL: redis.url });
      expect(await child.exited).toEqual({ code: 0, signal: null });
      const report: unknown = JSON.parse(child.output.trim().split('\n').at(-1) ?? '');
      expect(report).toEqual({
        good: { followed: RULES, broken: [], lacking: [] },
        bad: {
          followed: expect.any(Number),
          broken: expect.arrayContaining(['lets only the holder renew', 'extends a lease by a renewal']),
          lacking: [],
        },
      });
    },
    LIMIT_MS,
  );
});
