import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { onCleanup } from './cleanup.js';

/** A key prefix that no other spec file and no other run uses. */
export function testPrefix(): string {
  return `test:${randomBytes(8).toString('hex')}:`;
}

/** URL of the Redis that all specs share. Never flush or reconfigure it; use `startRedisServer()` for that. */
export function testRedisUrl(): string {
  const url = process.env['TEST_REDIS_URL'];
  if (url === undefined) throw new Error('TEST_REDIS_URL is not set: the globalSetup of this Jest project did not run');
  return url;
}

/** A part of the shared Redis. All keys under `prefix` are removed after the spec file. */
export interface RedisCorner {
  readonly url: string;
  readonly prefix: string;
  /** For direct access to the data; it adds no prefix. */
  readonly client: Redis;
  /** All keys under `prefix`, sorted. */
  keys(): Promise<string[]>;
}

export function useRedis(prefix = testPrefix()): RedisCorner {
  const url = testRedisUrl();
  const client = new Redis(url, { maxRetriesPerRequest: 1 });
  const keys = async () => (await scan(client, prefix)).sort();
  onCleanup(async () => {
    try {
      const left = await keys();
      if (left.length > 0) await client.unlink(...left);
    } finally {
      client.disconnect();
    }
  });
  return { url, prefix, client, keys };
}

async function scan(client: Redis, prefix: string): Promise<string[]> {
  const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`;
  const found = new Set<string>();
  for await (const page of client.scanStream({ match: pattern, count: 1000 })) {
    for (const key of page as string[]) found.add(key);
  }
  return [...found];
}
