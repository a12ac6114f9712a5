import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { createLocks } from 'nestjs-distribute-lock/core';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
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

describe('A folder with both tarballs and without Nest', () => {
  let consumer: PlainConsumer;
  let redis: RedisServer;

  beforeAll(async () => {
    let packed: PackedLibraries;
    [packed, redis] = await Promise.all([packLibraries(), startRedisServer()]);
    consumer = await PlainConsumer.install('runtimes', packed);
  }, LIMIT_MS);

  it.each(Object.entries(RUNTIMES))(
    'passes every check of a program, which ends by itself: %s',
    async (_, [command, ...words]) => {
      const child = consumer.run(command, words, { REDIS_URL: redis.url });
      expect(await child.exited).toEqual({ code: 0, signal: null });
      const lines = child.output.split('\n').filter((line) => /^(ok|FAILED)/.test(line));
      expect(lines.filter((line) => !line.startsWith('ok '))).toEqual([]);
      expect(lines.length).toBeGreaterThanOrEqual(FEWEST_CHECKS);
    },
    60_000,
  );

  it('names the holder of a lock by the command of the guide', async () => {
    const locks = await createLocks({ connection: redis.url });
    onCleanup(() => locks.close());
    const lease = await locks.acquire('nightly-report', { name: 'Reports.write' });
    const page = await readFile(fileURLToPath(new URL('../../docs/guide/operating.md', import.meta.url)), 'utf8');
    const command = /run by test\/consumers\/runtimes\.spec\.ts -->\n```sh\n(.*?)```/s.exec(page)![1];
    // This process names its hold within half a second, or the command shows its record only.
    await eventually(async () => {
      const child = consumer.shell(command, { REDIS_URL: redis.url });
      expect(await child.exited).toEqual({ code: 0, signal: null });
      expect(child.output).toContain("name: 'Reports.write'");
      expect(child.output).toContain(`pid: ${process.pid}`);
      expect(child.output).toContain(`fencingToken: ${lease.fencingToken}`);
    }, 30_000);
    await lease.release();
  });
});
