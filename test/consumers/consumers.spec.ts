import { readFile, writeFile } from 'node:fs/promises';

import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { packLibrary } from '../support/pack-library.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { Consumer, endGroup, type Watcher } from './consumer.js';

/** Mostly npm with its registry. */
const LIMIT_MS = 240_000;
const STARTS_WITHIN_MS = 40_000;

const STARTERS: readonly (readonly [string, { nest: RegExp; ioredis: RegExp; library: string }])[] = [
  ['nest10-starter', { nest: /^10\./, ioredis: /^5\./, library: 'CommonJS' }],
  ['nest11-starter', { nest: /^11\./, ioredis: /^5\./, library: 'CommonJS' }],
  ['nest11-esm', { nest: /^11\./, ioredis: /^6\./, library: 'ESM' }],
  ['oldest-peers', { nest: /^10\.0\.0$/, ioredis: /^5\.4\.0$/, library: 'CommonJS' }],
  ['nest12-starter', { nest: /^12\./, ioredis: /^6\./, library: 'ESM' }],
  ['nest12-commonjs', { nest: /^12\./, ioredis: /^6\./, library: 'CommonJS' }],
  // `require.cache` does not contain the parts of a bundle
  ['nest11-one-file', { nest: /^11\./, ioredis: /^5\./, library: 'ESM' }],
  ['nest12-bundler', { nest: /^12\./, ioredis: /^5\./, library: 'ESM' }],
];
const OPERATING: readonly (readonly [string, RegExp])[] = [
  ['operating-nest11', /^11\./],
  ['operating-nest12', /^12\./],
];

/** A hook that delays the shutdown: requests with and without a lock are served until it ends. */
const SERVED = [200, 201];
const GRACE = {
  'module before': SERVED,
  'module after': SERVED,
  'global module before': SERVED,
  'global module after': SERVED,
  'nested module before': SERVED,
  'nested module after': SERVED,
  'module, lock nested': SERVED,
  'module that imports the lock': SERVED,
  'root module': SERVED,
};

/** A cron job with `once: 'tick'` on several instances. */
const EACH_ONCE = { several: true, twice: 0 };

/** `CONSUMERS=all` tests all applications. By default one of each kind and the oldest peers, other ones in each run. */
function drawn<T>(applications: readonly (readonly [string, T])[]): readonly (readonly [string, T])[] {
  if (process.env['CONSUMERS'] === 'all') return applications;
  const others = applications.filter(([name]) => name !== 'oldest-peers');
  const one = others[Math.floor(Math.random() * others.length)];
  return applications.filter((each) => each === one || each[0] === 'oldest-peers');
}

describe('An application that installs the tarball', () => {
  let tarball: string;
  let redis: RedisServer;

  beforeAll(async () => {
    [tarball, redis] = await Promise.all([packLibrary(), startRedisServer()]);
  }, 120_000);

  it.each(drawn(STARTERS))(
    'builds, starts and locks: %s',
    async (name, { nest, ioredis, library }) => {
      const consumer = await Consumer.install(name, tarball, redis.url);

      expect(await consumer.start()).toEqual({
        first: [201, { id: '42', held: true }],
        second: [409, 'LOCK_CONTENDED', true],
        guard: [409, 'LOCK_CONTENDED'],
        message: 'LOCK_CONTENDED',
        event: true,
        redis: [1, 0],
        report: true,
        grace: GRACE,
        nest: expect.stringMatching(nest) as unknown,
        ioredis: expect.stringMatching(ioredis) as unknown,
        library,
      });
      // nest11-starter has BullMQ 5, which depends on ioredis itself
      expect(await consumer.copiesOf('ioredis')).toBe(1);
      expect((await consumer.ticks()) ?? EACH_ONCE).toEqual(EACH_ONCE);
      await consumer.lint();
      expect((await consumer.test()) ?? '2 passed').toMatch(/[28] passed/);
      await survivesSave(await consumer.watch(await freePort()));
    },
    LIMIT_MS,
  );

  it.each(drawn(OPERATING))(
    'reports health and metrics: %s',
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

/** A save while a request holds a lock: the watcher starts the new code on the same port. */
async function survivesSave(watcher: Watcher | undefined): Promise<void> {
  if (watcher === undefined) return;
  const { child, source, url } = watcher;
  const word = async (): Promise<string> => (await fetch(url, { headers: { connection: 'close' } })).text();
  try {
    await eventually(async () => expect(await word()).toBe('before'), STARTS_WITHIN_MS);
    const held = fetch(url, { method: 'POST', headers: { connection: 'close' } });
    await eventually(() => expect(child.output).toContain('hot is held'), 5_000);
    await writeFile(source, (await readFile(source, 'utf8')).replace("'before'", "'after'"));
    await eventually(async () => expect(await word()).toBe('after'), STARTS_WITHIN_MS);
    expect((await held).status).toBe(201);
    expect(child.output).not.toContain('EADDRINUSE');
  } catch (error) {
    throw new Error(`The watcher printed:\n${child.output}`, { cause: error });
  } finally {
    await endGroup(child);
  }
}
