import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { testPrefix, useRedis } from '../support/use-redis.js';
import { describeOnceContract } from './once-contract.js';
import { describeCoreContract } from './core-contract.js';
import { describeHeldOnPurposeContract } from './held-on-purpose-contract.js';
import { describeInspectingContract } from './inspecting-contract.js';
import { describeNestingContract } from './nesting-contract.js';
import { describeOutcomesContract } from './outcomes-contract.js';
import { describeReadWriteContract } from './read-write-contract.js';
import { describeReadWriteStoreContract } from './read-write-store-contract.js';
import { worldOf } from './redis-world.js';
import { describeSemaphoreContract } from './semaphore-contract.js';
import { describeSemaphoreStoreContract } from './semaphore-store-contract.js';
import { describeMultiKeyContract } from './multi-key-contract.js';
import { describeMultiKeyStoreContract } from './multi-key-store-contract.js';
import { describeStoreContract } from './store-contract.js';
import { describeTicketsContract } from './tickets-contract.js';
import type { World } from './world.js';

function redisWorld(): World {
  const prefix = testPrefix();
  const { url, client, keys } = useRedis(prefix);
  return worldOf(client, prefix, { store: () => RedisLockStore.open(url, { prefix }), counted: true, keys });
}

describe('RedisLockStore', () => describeStoreContract(redisWorld));
describe('RedisLockStore, permits', () => describeSemaphoreStoreContract(redisWorld));
describe('RedisLockStore, several keys', () => describeMultiKeyStoreContract(redisWorld));
describe('RedisLockStore, readers and writers', () => describeReadWriteStoreContract(redisWorld));
describe('LockEngine on Redis', () => describeCoreContract(redisWorld));
describe('A nested call on Redis', () => describeNestingContract(redisWorld));
describe('A semaphore on Redis', () => describeSemaphoreContract(redisWorld));
describe('A read/write lock on Redis', () => describeReadWriteContract(redisWorld));
describe('A key held on purpose on Redis', () => describeHeldOnPurposeContract(redisWorld));
describe('Events and errors on Redis', () => describeOutcomesContract(redisWorld));
describe('Inspecting locks on Redis', () => describeInspectingContract(redisWorld));
describe('A detached lease on Redis', () => describeTicketsContract(redisWorld));
describe('Ticks on Redis', () => describeOnceContract(redisWorld));
describe('Several keys on Redis', () => describeMultiKeyContract(redisWorld));
