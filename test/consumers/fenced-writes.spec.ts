import { packLibraries, type PackedLibraries } from '../support/pack-library.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { PlainConsumer } from './plain-consumer.js';

/** Mostly npm with its registry. */
const LIMIT_MS = 280_000;

/** The later holder writes twice; the earlier one is refused. */
const FENCED = {
  outcomes: ['written', 'written', 'refused'],
  rows: [
    ['book', 20],
    ['pen', 1],
  ],
};

const PROGRAMS: readonly (readonly [string, object])[] = [
  ['fenced-writes-starter', { kysely: FENCED, drizzle: FENCED, compiled: true }],
  // npm needs minutes for Prisma, and 390 MB
  ['fenced-writes-prisma-starter', { prisma: FENCED }],
];

/** `CONSUMERS=all` runs all programs, and CI the first one. */
const drawn = process.env['CONSUMERS'] === 'all' ? PROGRAMS : PROGRAMS.slice(0, 1);

describe('A fenced write by other clients of databases', () => {
  let packed: PackedLibraries;
  let redis: RedisServer;

  beforeAll(async () => {
    [packed, redis] = await Promise.all([packLibraries(), startRedisServer()]);
  }, 120_000);

  it.each(drawn)(
    'refuses the token of an earlier holder: %s',
    async (name, report) => {
      const consumer = await PlainConsumer.install(name, packed);
      const { child } = consumer.start({ REDIS_URL: redis.url });

      expect(await child.exited).toEqual({ code: 0, signal: null });
      expect(JSON.parse(child.output.trim().split('\n').at(-1) ?? '')).toEqual(report);
    },
    LIMIT_MS,
  );
});
