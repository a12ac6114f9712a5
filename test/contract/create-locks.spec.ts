import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { testPrefix, useRedis } from '../support/use-redis.js';
import { describeOnceContract } from './once-contract.js';
import { describeTicketsContract } from './tickets-contract.js';
import { describeCoreContract } from './core-contract.js';
import { describeHeldOnPurposeContract } from './held-on-purpose-contract.js';
import { describeInspectingContract } from './inspecting-contract.js';
import { describeMultiKeyContract } from './multi-key-contract.js';
import { describeNestingContract } from './nesting-contract.js';
import { describeOutcomesContract } from './outcomes-contract.js';
import { describeReadWriteContract } from './read-write-contract.js';
import { worldOf } from './redis-world.js';
import { describeSemaphoreContract } from './semaphore-contract.js';
import type { World } from './world.js';

/** `redis.spec.ts` shows the same for the engine, and the contracts of stores, which have no door. */
function createLocksWorld(): World {
  const prefix = testPrefix();
  const { url, client, keys } = useRedis(prefix);
  const store = (): RedisLockStore => RedisLockStore.open(url, { prefix });
  return { ...worldOf(client, prefix, { store, counted: true, keys }), byCreateLocks: true };
}

describe('createLocks', () => describeCoreContract(createLocksWorld));
describe('A nested call of createLocks', () => describeNestingContract(createLocksWorld));
describe('A semaphore of createLocks', () => describeSemaphoreContract(createLocksWorld));
describe('A read/write lock of createLocks', () => describeReadWriteContract(createLocksWorld));
describe('A key held on purpose by createLocks', () => describeHeldOnPurposeContract(createLocksWorld));
describe('Events and errors of createLocks', () => describeOutcomesContract(createLocksWorld));
describe('Inspecting locks of createLocks', () => describeInspectingContract(createLocksWorld));
describe('A detached lease of createLocks', () => describeTicketsContract(createLocksWorld));
describe('Ticks of createLocks', () => describeOnceContract(createLocksWorld));
describe('Several keys of createLocks', () => describeMultiKeyContract(createLocksWorld));
