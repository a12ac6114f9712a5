import { Redis } from 'ioredis';

import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { describeOnceContract } from '../contract/once-contract.js';
import { describeTicketsContract } from '../contract/tickets-contract.js';
import { describeCoreContract } from '../contract/core-contract.js';
import { describeInspectingContract } from '../contract/inspecting-contract.js';
import { describeNestingContract } from '../contract/nesting-contract.js';
import { describeReadWriteContract } from '../contract/read-write-contract.js';
import { worldOf } from '../contract/redis-world.js';
import { describeSemaphoreContract } from '../contract/semaphore-contract.js';
import { describeStoreContract } from '../contract/store-contract.js';
import type { World } from '../contract/world.js';
import { onCleanup } from '../support/cleanup.js';
import { startSentinelTopology } from '../support/redis-sentinels.js';
import { testPrefix } from '../support/use-redis.js';

const topology = await startSentinelTopology({ replicas: 1 });
const client = new Redis(topology.connection);
onCleanup(() => client.disconnect());

function sentinelWorld(): World {
  const prefix = testPrefix();
  return worldOf(client, prefix, {
    store: () => RedisLockStore.open(topology.connection, { prefix }),
    counted: true,
    keys: () => client.keys(`${prefix}*`),
  });
}

describe('RedisLockStore behind Sentinel', () => describeStoreContract(sentinelWorld));
describe('LockEngine behind Sentinel', () => describeCoreContract(sentinelWorld));
describe('Inspecting locks behind Sentinel', () => describeInspectingContract(sentinelWorld));
describe('A nested call behind Sentinel', () => describeNestingContract(sentinelWorld));
describe('A semaphore behind Sentinel', () => describeSemaphoreContract(sentinelWorld));
describe('A detached lease behind Sentinel', () => describeTicketsContract(sentinelWorld));
describe('Ticks behind Sentinel', () => describeOnceContract(sentinelWorld));
describe('A read/write lock behind Sentinel', () => describeReadWriteContract(sentinelWorld));
