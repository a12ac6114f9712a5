import { Cluster, Redis } from 'ioredis';

import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { describeCoreContract } from '../contract/core-contract.js';
import { describeTicketsContract } from '../contract/tickets-contract.js';
import { describeReadWriteContract } from '../contract/read-write-contract.js';
import { worldOf } from '../contract/redis-world.js';
import { describeSemaphoreContract } from '../contract/semaphore-contract.js';
import { describeInspectingContract } from '../contract/inspecting-contract.js';
import { describeMultiKeyContract } from '../contract/multi-key-contract.js';
import { describeStoreContract } from '../contract/store-contract.js';
import type { World } from '../contract/world.js';
import { onCleanup } from '../support/cleanup.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { startRedisServer } from '../support/redis-server.js';
import { documentedAcl, user } from './documented-acl.js';

const server = await startRedisServer();
const cluster = await startRedisCluster();
const [single, ofCluster] = [
  documentedAcl('one primary, with Sentinel or without; each node of a quorum'),
  documentedAcl('Redis Cluster, on every node'),
];
await server.run((redis) => redis.call('ACL', 'SETUSER', ...single));
for (const node of cluster.nodes) await node.server.run((redis) => redis.call('ACL', 'SETUSER', ...ofCluster));

const admin = new Redis(server.url);
const clusterAdmin = new Cluster(cluster.startNodes);
onCleanup(() => admin.disconnect());
onCleanup(() => clusterAdmin.disconnect());

const onPrimary = (): World =>
  worldOf(admin, 'lock:', {
    store: () => RedisLockStore.open({ port: server.port, ...user }, { prefix: 'lock:' }),
    counted: true,
    keys: () => admin.keys('lock:*'),
  });
const onCluster = (): World =>
  worldOf(clusterAdmin, 'lock:', {
    store: () =>
      RedisLockStore.open({ cluster: cluster.startNodes, options: { redisOptions: user } }, { prefix: 'lock:' }),
    counted: false,
    keys: async () => (await Promise.all(clusterAdmin.nodes('master').map((node) => node.keys('lock:*')))).flat(),
  });

describe.each([
  ['one primary', onPrimary],
  ['a Cluster', onCluster],
])('With only the permissions that the deployment guide lists, on %s', (_, world) => {
  describe('the store', () => describeStoreContract(world));
  describe('the core', () => describeCoreContract(world));
  describe('a semaphore', () => describeSemaphoreContract(world));
  describe('a read/write lock', () => describeReadWriteContract(world));
  describe('inspecting locks', () => describeInspectingContract(world));
  describe('a detached lease', () => describeTicketsContract(world));
  describe('several keys', () => describeMultiKeyContract(world));
});
