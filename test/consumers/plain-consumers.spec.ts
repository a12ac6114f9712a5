import { createLocks, type OpenedLocks } from 'nestjs-distribute-lock/core';

import { type DemoInstance, startDemo } from '../e2e/support/demo-instance.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { packLibraries, type PackedLibraries } from '../support/pack-library.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { PlainConsumer } from './plain-consumer.js';

/** Mostly npm with its registry. */
const LIMIT_MS = 240_000;
const OF_NEST = /^(@nestjs|rxjs|reflect-metadata)$/;
const CHANNEL = 'shared';
const KEY = `post_test_${CHANNEL}`;

const PROGRAMS = ['plain-esm', 'plain-cjs', 'plain-typescript', 'plain-iovalkey'];

/** `CONSUMERS=all` tests all programs. By default one of them, another one in each run. */
function drawn(): readonly string[] {
  if (process.env['CONSUMERS'] === 'all') return PROGRAMS;
  return [PROGRAMS[Math.floor(Math.random() * PROGRAMS.length)]];
}

describe('A program without Nest that installs both tarballs', () => {
  let packed: PackedLibraries;
  let redis: RedisServer;
  let demo: DemoInstance;
  let observer: OpenedLocks;

  beforeAll(async () => {
    [packed, redis] = await Promise.all([packLibraries(), startRedisServer()]);
    demo = await startDemo({ REDIS_URL: redis.url });
    observer = await createLocks({ connection: redis.url });
    onCleanup(() => observer.close());
  }, 120_000);

  const waiting = (processes: number): Promise<void> =>
    eventually(
      async () => expect(await observer.inspect(KEY)).toMatchObject({ held: true, waiting: processes }),
      20_000,
    );

  it.each(drawn())(
    'excludes a Nest application and waits behind it, in both directions: %s',
    async (name) => {
      const consumer = await PlainConsumer.install(name, packed);
      expect((await consumer.packages()).filter((each) => OF_NEST.test(each))).toEqual([]);

      const first = demo.post('/post-test', { channel: CHANNEL, workMs: 8_000 });
      await waiting(0);
      const program = consumer.start({ REDIS_URL: redis.url, KEY });
      await program.child.printed('refused');
      await waiting(1);
      expect(await first).toMatchObject({ status: 201 });
      await program.child.printed('held');

      expect(await demo.post('/post-test', { channel: CHANNEL, workMs: 0 })).toMatchObject({ status: 409 });
      const second = demo.post('/post-test/wait', { channel: CHANNEL, workMs: 0 });
      await waiting(1);
      program.continue();
      expect(await second).toMatchObject({ status: 201 });

      expect(await program.child.exited).toEqual({ code: 0, signal: null });
      const { loaded, ...report } = JSON.parse(program.child.output.trim().split('\n').at(-1) ?? '') as {
        loaded: string[];
      };
      expect(report).toEqual({ refused: true, token: true });
      expect(loaded.filter((path) => /node_modules\/(@nestjs|rxjs|reflect-metadata)\//.test(path))).toEqual([]);
      expect(loaded.some((path) => path.includes('node_modules/ioredis/'))).toBe(true);
    },
    LIMIT_MS,
  );
});
