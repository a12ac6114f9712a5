import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { packLibrary } from '../support/pack-library.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { Consumer } from './consumer.js';

/** Mostly npm with its registry. */
const LIMIT_MS = 240_000;
const OLDEST_MINOR = 4;

/** The newest version of each supported minor. */
async function supportedVersions(): Promise<string[]> {
  const { stdout } = await promisify(execFile)('npm', ['view', 'ioredis', 'versions', '--json']);
  const newest = new Map<string, string>();
  for (const version of JSON.parse(stdout) as string[]) {
    const [, major, minor] = /^(\d+)\.(\d+)\.\d+$/.exec(version) ?? [];
    const isSupported = major === '6' || (major === '5' && Number(minor) >= OLDEST_MINOR);
    if (isSupported) newest.set(`${major}.${minor}`, version);
  }
  return [...newest.values()];
}

interface Result {
  readonly ioredis: string;
  readonly scripts: number;
  readonly written: number;
  readonly toSocket: number;
}

describe('Every supported minor version of ioredis', () => {
  let redis: RedisServer;
  let consumer: Consumer;
  let versions: readonly string[];

  beforeAll(async () => {
    const [tarball, server, found] = await Promise.all([packLibrary(), startRedisServer(), supportedVersions()]);
    redis = server;
    versions = found;
    consumer = await Consumer.install('ioredis-versions', tarball, redis.url);
  }, LIMIT_MS);

  it(
    'sends the script calls as the library has encoded them, and locks',
    async () => {
      expect(versions.length).toBeGreaterThanOrEqual(9);
      for (const version of versions) {
        await consumer.add(`ioredis@${version}`);
        const { ioredis, scripts, written, toSocket } = (await consumer.start()) as Result;
        expect(ioredis).toBe(version);
        expect(scripts).toBeGreaterThan(20);
        // All calls reached the socket as encoded; a repeated call counts twice.
        expect({ version, written }).toEqual({ version, written: scripts });
        expect(toSocket).toBeGreaterThanOrEqual(written);
      }
    },
    2 * LIMIT_MS,
  );
});
