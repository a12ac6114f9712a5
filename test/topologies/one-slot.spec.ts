import { Redis } from 'ioredis';

import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { describeCoreContract } from '../contract/core-contract.js';
import { describeTicketsContract } from '../contract/tickets-contract.js';
import { describeHeldOnPurposeContract } from '../contract/held-on-purpose-contract.js';
import { describeInspectingContract } from '../contract/inspecting-contract.js';
import { describeNestingContract } from '../contract/nesting-contract.js';
import { describeOutcomesContract } from '../contract/outcomes-contract.js';
import { describeReadWriteContract } from '../contract/read-write-contract.js';
import { describeReadWriteStoreContract } from '../contract/read-write-store-contract.js';
import { worldOf } from '../contract/redis-world.js';
import { describeSemaphoreContract } from '../contract/semaphore-contract.js';
import { describeSemaphoreStoreContract } from '../contract/semaphore-store-contract.js';
import { describeMultiKeyContract } from '../contract/multi-key-contract.js';
import { describeMultiKeyStoreContract } from '../contract/multi-key-store-contract.js';
import { describeStoreContract } from '../contract/store-contract.js';
import type { World } from '../contract/world.js';
import { onCleanup } from '../support/cleanup.js';
import { startHaproxy } from '../support/haproxy.js';
import { startOneNodeCluster } from '../support/redis-cluster.js';
import { testPrefix } from '../support/use-redis.js';

const server = await startOneNodeCluster();
const haproxy = await startHaproxy(server.port);
const client = new Redis(server.url);
onCleanup(() => client.disconnect());

function worldWith(open: (prefix: string) => RedisLockStore): () => World {
  return () => {
    const prefix = testPrefix();
    return worldOf(client, prefix, {
      store: () => open(prefix),
      counted: false,
      keys: () => client.keys(`${prefix}*`),
    });
  };
}

const byUrl = worldWith((prefix) => RedisLockStore.open(server.url, { prefix }));
const byClient = worldWith((prefix) => RedisLockStore.open(client, { prefix }));
const behindHaproxy = worldWith((prefix) => RedisLockStore.open(haproxy.url, { prefix }));

describe.each([
  ['a URL', byUrl],
  ['a client of ioredis', byClient],
])('On a server that only runs scripts for one slot, through %s', (_, world) => {
  describe('the store', () => describeStoreContract(world));
  describe('several keys', () => describeMultiKeyContract(world));
});

describe('On a server that only runs scripts for one slot, behind HAProxy', () => {
  describe('the store', () => describeStoreContract(behindHaproxy));
  describe('the store, permits', () => describeSemaphoreStoreContract(behindHaproxy));
  describe('the store, several keys of one slot', () => describeMultiKeyStoreContract(behindHaproxy, '{tag}'));
  describe('the store, readers and writers', () => describeReadWriteStoreContract(behindHaproxy));
  describe('the core', () => describeCoreContract(behindHaproxy));
  describe('a nested call', () => describeNestingContract(behindHaproxy));
  describe('a semaphore', () => describeSemaphoreContract(behindHaproxy));
  describe('a read/write lock', () => describeReadWriteContract(behindHaproxy));
  describe('a key held on purpose', () => describeHeldOnPurposeContract(behindHaproxy));
  describe('events and errors', () => describeOutcomesContract(behindHaproxy));
  describe('inspecting locks', () => describeInspectingContract(behindHaproxy));
  describe('a detached lease', () => describeTicketsContract(behindHaproxy));
  describe('several keys', () => describeMultiKeyContract(behindHaproxy));
  describe('several keys of one slot', () => describeMultiKeyContract(behindHaproxy, '{tag}'));
});
