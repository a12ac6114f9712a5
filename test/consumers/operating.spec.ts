import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { Consumer, packLibrary } from './consumer.js';

/** Mostly npm with its registry. */
const LIMIT_MS = 240_000;

describe('The optional entries of the tarball', () => {
  let tarball: string;
  let redis: RedisServer;

  beforeAll(async () => {
    [tarball, redis] = await Promise.all([packLibrary(), startRedisServer()]);
  }, 120_000);

  it.each([
    ['operating-nest11', /^11\./],
    ['operating-nest12', /^12\./],
  ])(
    'report health and metrics: %s',
    async (name, terminus) => {
      const consumer = await Consumer.install(name, tarball, redis.url);

      expect(await consumer.start()).toEqual({
        terminus: expect.stringMatching(terminus) as unknown,
        healthy: ['ok', 'up', { default: 'up' }],
        down: 503,
        prometheus: '1',
        otel: 1,
      });
    },
    LIMIT_MS,
  );
});
