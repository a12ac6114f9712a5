import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { testPrefix, useRedis } from '../support/use-redis.js';
import { describeCoreContract } from './core-contract.js';
import { describeNestingContract } from './nesting-contract.js';
import { describeReadWriteContract } from './read-write-contract.js';
import { describeReadWriteStoreContract } from './read-write-store-contract.js';
import { describeSemaphoreContract } from './semaphore-contract.js';
import { describeStoreContract } from './store-contract.js';
import type { World } from './world.js';

function redisWorld(): World {
  const prefix = testPrefix();
  const redis = useRedis(prefix);
  const keys = new RedisKeys(prefix);
  const queue = (key: string): string => keys.queue(keys.lock(key));
  return {
    store: () => RedisLockStore.open(redis.url, { prefix }),
    owner: async (key) => (await redis.client.get(keys.lock(key))) ?? undefined,
    leftMs: (key) => redis.client.pttl(keys.lock(key)),
    overwrite: async (key, owner, ttlMs) => {
      if (owner === undefined) await redis.client.del(keys.lock(key));
      else if (ttlMs === undefined) await redis.client.set(keys.lock(key), owner);
      else await redis.client.set(keys.lock(key), owner, 'PX', ttlMs);
    },
    waiting: (key) => redis.client.zcard(queue(key)),
    leftovers: async () => (await redis.keys()).map((name) => name.slice(prefix.length)),
  };
}

describe('RedisLockStore', () => describeStoreContract(redisWorld));
describe('RedisLockStore, readers and writers', () => describeReadWriteStoreContract(redisWorld));
describe('LockCore on Redis', () => describeCoreContract(redisWorld));
describe('A nested call on Redis', () => describeNestingContract(redisWorld));
describe('A semaphore on Redis', () => describeSemaphoreContract(redisWorld));
describe('A read/write lock on Redis', () => describeReadWriteContract(redisWorld));
