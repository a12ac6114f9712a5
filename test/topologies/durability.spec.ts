import { Cluster, Redis } from 'ioredis';

import type { LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { describeCoreContract } from '../contract/core-contract.js';
import { describeTicketsContract } from '../contract/tickets-contract.js';
import { worldOf } from '../contract/redis-world.js';
import type { World } from '../contract/world.js';
import { onCleanup } from '../support/cleanup.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { startSentinelTopology } from '../support/redis-sentinels.js';
import { documentedAcl, user } from './documented-acl.js';

const ACKNOWLEDGED = { replicas: 1, timeoutMs: 1_000 };

const [topology, cluster] = await Promise.all([startSentinelTopology({ replicas: 1 }), startRedisCluster()]);
const [single, ofCluster] = [
  documentedAcl('one primary, with Sentinel or without; each node of a quorum'),
  documentedAcl('Redis Cluster, on every node'),
];
for (const server of topology.servers) await server.run((redis) => redis.call('ACL', 'SETUSER', ...single, '+wait'));
for (const { server } of cluster.nodes)
  await server.run((redis) => redis.call('ACL', 'SETUSER', ...ofCluster, '+wait'));

const admin = new Redis(topology.connection);
const clusterAdmin = new Cluster(cluster.startNodes);
onCleanup(() => admin.disconnect());
onCleanup(() => clusterAdmin.disconnect());

const settings = { prefix: 'lock:', durability: ACKNOWLEDGED };
const behindSentinel = (): LockStore => RedisLockStore.open({ ...topology.connection, ...user }, settings);
const inCluster = (): LockStore =>
  RedisLockStore.open({ cluster: cluster.startNodes, options: { redisOptions: user } }, settings);

const sentinelWorld = (): World =>
  worldOf(admin, 'lock:', {
    store: behindSentinel,
    counted: true,
    keys: () => admin.keys('lock:*'),
  });
const clusterWorld = (): World =>
  worldOf(clusterAdmin, 'lock:', {
    store: inCluster,
    counted: false,
    keys: async () => (await Promise.all(clusterAdmin.nodes('master').map((node) => node.keys('lock:*')))).flat(),
  });

/** The user has only the permissions that docs/guide/deployment.md lists. */
describe('Locks that replicas must acknowledge', () => {
  describe('behind Sentinel', () => describeCoreContract(sentinelWorld));
  describe('in a Cluster', () => describeCoreContract(clusterWorld));
  describe('a detached lease in a Cluster', () => describeTicketsContract(clusterWorld));
});

describe('Without the right to WAIT', () => {
  beforeAll(async () => {
    for (const server of topology.servers) await server.run((redis) => redis.acl('SETUSER', 'locks', '-wait'));
    for (const { server } of cluster.nodes) await server.run((redis) => redis.acl('SETUSER', 'locks', '-wait'));
  });

  it.each([
    ['behind Sentinel', behindSentinel],
    ['in a Cluster', inCluster],
  ])('locks that replicas must acknowledge are refused when the application starts, %s', async (_, open) => {
    const store = open();
    onCleanup(() => store.close());
    await expect(store.connect()).rejects.toThrow(/NOPERM.*wait/);
  });
});
