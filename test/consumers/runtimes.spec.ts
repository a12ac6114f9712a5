import { packLibraries, type PackedLibraries } from '../support/pack-library.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { PlainConsumer } from './plain-consumer.js';

/** Mostly npm with its registry. */
const LIMIT_MS = 240_000;
const FEWEST_CHECKS = 20;

const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  Bun: ['bun', 'smoke.js'],
  Deno: ['deno', 'run', '--allow-all', '--node-modules-dir=manual', 'smoke.js'],
};

describe('A program without Nest on another runtime', () => {
  let consumer: PlainConsumer;
  let redis: RedisServer;

  beforeAll(async () => {
    let packed: PackedLibraries;
    [packed, redis] = await Promise.all([packLibraries(), startRedisServer()]);
    consumer = await PlainConsumer.install('runtimes', packed);
  }, LIMIT_MS);

  it.each(Object.entries(RUNTIMES))(
    'passes every check and ends by itself: %s',
    async (_, [command, ...words]) => {
      const child = consumer.run(command, words, { REDIS_URL: redis.url });
      expect(await child.exited).toEqual({ code: 0, signal: null });
      const lines = child.output.split('\n').filter((line) => /^(ok|FAILED)/.test(line));
      expect(lines.filter((line) => !line.startsWith('ok '))).toEqual([]);
      expect(lines.length).toBeGreaterThanOrEqual(FEWEST_CHECKS);
    },
    60_000,
  );
});
