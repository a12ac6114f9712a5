import type { Cluster, Redis } from 'ioredis';

import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import type { World } from './world.js';

/** The parts that are equal on every kind of Redis: the names and the format of keys. */
export function worldOf(
  client: Redis | Cluster,
  prefix: string,
  rest: Pick<World, 'store' | 'counted'> & { keys(): Promise<string[]> },
): World {
  const keys = new RedisKeys(prefix);
  return {
    store: rest.store,
    counted: rest.counted,
    owner: async (key) => (await client.get(keys.lock(key))) ?? undefined,
    leftMs: (key) => client.pttl(keys.lock(key)),
    overwrite: async (key, owner, ttlMs) => {
      if (owner === undefined) await client.del(keys.lock(key));
      else if (ttlMs === undefined) await client.set(keys.lock(key), owner);
      else await client.set(keys.lock(key), owner, 'PX', ttlMs);
    },
    waiting: (key) => client.zcard(keys.queue(keys.lock(key))),
    leftovers: async () => (await rest.keys()).map((name) => name.slice(prefix.length)),
  };
}
