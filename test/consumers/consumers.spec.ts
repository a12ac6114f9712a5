import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { Consumer, packLibrary } from './consumer.js';

/** Mostly npm with its registry. */
const LIMIT_MS = 240_000;

describe('An application that installs the tarball', () => {
  let tarball: string;
  let redis: RedisServer;

  beforeAll(async () => {
    [tarball, redis] = await Promise.all([packLibrary(), startRedisServer()]);
  }, 120_000);

  it.each([
    ['nest11-starter', { nest: /^11\./, ioredis: /^5\./, library: 'CommonJS' }],
    ['nest11-esm', { nest: /^11\./, ioredis: /^6\./, library: 'ESM' }],
    ['oldest-peers', { nest: /^11\.0\.0$/, ioredis: /^5\.4\.0$/, library: 'CommonJS' }],
    ['nest12-starter', { nest: /^12\./, ioredis: /^6\./, library: 'ESM' }],
    ['nest12-commonjs', { nest: /^12\./, ioredis: /^6\./, library: 'CommonJS' }],
    ['nest12-bundler', { nest: /^12\./, ioredis: /^5\./, library: 'ESM' }],
  ])(
    'builds, starts and locks: %s',
    async (name, { nest, ioredis, library }) => {
      const consumer = await Consumer.install(name, tarball, redis.url);

      expect(await consumer.start()).toEqual({
        first: [201, { id: '42', held: true }],
        second: [409, 'LOCK_CONTENDED', true],
        message: 'LOCK_CONTENDED',
        redis: [1, 0],
        report: true,
        nest: expect.stringMatching(nest) as unknown,
        ioredis: expect.stringMatching(ioredis) as unknown,
        library,
      });
      expect((await consumer.test()) ?? '2 passed').toContain('2 passed');
    },
    LIMIT_MS,
  );
});
