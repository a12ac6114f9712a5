import { Redis } from 'ioredis';
import { within } from './eventually.js';
import { findRedisServer, redisServerBinary, serverVersion } from './redis-binary.js';
import { startRedisServer } from './redis-server.js';

/** The Redis that all specs share. */
export interface TestRedis {
  readonly url: string;
  /** A description for the test output. */
  readonly origin: string;
  stop(): Promise<void>;
}

const FORCEABLE = { testcontainers: fromContainer, path: fromPath, url: fromUrl };

const WAYS = `Give the tests a Redis in one of these ways:
  - set REDIS_URL to a server (nothing on it is flushed, every key has a random prefix),
  - start a Docker engine that has or can pull redis:7-alpine (tools/redis-image.sh makes one without a registry),
  - put a redis-server on the PATH (Debian: apt-get install redis-server; as root the tests do it themselves),
  - set REDIS_SERVER_BIN to the file of another server, such as valkey-server.
TEST_REDIS=url|testcontainers|path forces one of them.`;

/** Finds or starts the Redis of the tests. Rejects with the ways to provide one, so that no test is skipped. */
export async function obtainTestRedis(): Promise<TestRedis> {
  const forced = process.env['TEST_REDIS'] ?? '';
  if (forced !== '' && !(forced in FORCEABLE)) throw new Error(`TEST_REDIS is "${forced}".\n${WAYS}`);
  try {
    return await (forced === '' ? firstAvailable() : FORCEABLE[forced as keyof typeof FORCEABLE]());
  } catch (error) {
    throw new Error(`The tests have no Redis: ${(error as Error).message}\n${WAYS}`, { cause: error });
  }
}

async function firstAvailable(): Promise<TestRedis> {
  // an unreachable REDIS_URL is a mistake to report, not to work around
  if ((process.env['REDIS_URL'] ?? '') !== '') return fromUrl();
  try {
    return await fromContainer();
  } catch (error) {
    if (findRedisServer() === undefined) console.warn(`tests: no Testcontainers (${(error as Error).message})`);
    return fromPath();
  }
}

async function fromUrl(): Promise<TestRedis> {
  const url = process.env['REDIS_URL'] ?? '';
  if (url === '') throw new Error('REDIS_URL is not set.');
  await assertAnswers(url);
  return { url, origin: 'the server that REDIS_URL names', stop: async () => {} };
}

async function fromContainer(): Promise<TestRedis> {
  // imported here, because the import is slow and the other ways do not need it
  const { startRedisContainer } = await import('./redis-container.js');
  const container = await startRedisContainer();
  const reaper = process.env['TESTCONTAINERS_RYUK_DISABLED'] === 'true' ? ', reaper switched off' : '';
  return { url: container.url, origin: `a container of Testcontainers${reaper}`, stop: () => container.stop() };
}

async function fromPath(): Promise<TestRedis> {
  const binary = redisServerBinary();
  const server = await startRedisServer();
  return { url: server.url, origin: `a private ${serverVersion(binary)} (${binary})`, stop: () => server.stop() };
}

async function assertAnswers(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {}); // connect() rejects
  try {
    await within(5_000, 'the reply of the server that REDIS_URL names', redis.connect());
    await within(5_000, 'the reply of the server that REDIS_URL names', redis.ping());
  } catch (error) {
    // not `error.message`: for an invalid URL it may contain the password
    const reason = (error as { code?: string }).code ?? (error as Error).message;
    throw new Error(`The server that REDIS_URL names does not respond (${reason}).`, { cause: error });
  } finally {
    redis.disconnect();
  }
}
