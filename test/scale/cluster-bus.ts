import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

import { type RedisCluster, type RedisClusterSize, startRedisCluster } from '../support/redis-cluster.js';
import { type BusCost, costOf, type Gossip, gossipOf } from './support/bus-cost.js';
import { type Holds, readHolds } from './support/holds.js';
import type { Bound, Section } from './support/report.js';
import { Crowd } from './support/scale-process.js';

/** The Clusters, and how long each figure is measured. */
export interface ClusterBusSize {
  readonly clusters: readonly RedisClusterSize[];
  readonly forMs: number;
}

/** With the default of Redis, because a busy machine would exceed the short timeout of the tests. */
const CONFIG = { 'cluster-node-timeout': '15000' };
const SLOTS = 16_384;
/** Messages of one burst, and the pause behind it. */
const BURST = 50;
const PAUSE_MS = 100;
/** As long as a message of the library. */
const MESSAGE = `g1767225600000000 ${'a'.repeat(22)}:1a lock:key:000000`;
const CHANNEL = `nestjs-lock:1:lock:${'a'.repeat(11)}`;
const WARM_UP = { cycles: 200 };
const LOOP = { key: 0, options: { ttl: '30s', wait: '1h' } };

const COLUMNS = [
  'masters + replicas',
  'gossip, kB/s',
  'PUBLISH: bytes',
  'PUBLISH: CPU us',
  'SPUBLISH: bytes',
  'SPUBLISH: CPU us',
  'hand-over: messages',
  'hand-over: bytes',
  'hand-over: CPU us',
  'hand-overs/s',
];

/** Bus bytes of `PUBLISH`, of `SPUBLISH`, and of the hand-overs of the library, in Clusters of several sizes. */
export async function clusterBus({ clusters, forMs }: ClusterBusSize): Promise<Section> {
  const rows: (string | number)[][] = [];
  const bounds: Bound[] = [];
  for (const size of clusters) {
    const name = `${size.masters} + ${size.masters * size.replicasEach}`;
    const { gossip, plain, sharded, handOver, holds } = await measure(size, forMs);
    rows.push([
      name,
      gossip.bytesPerMs,
      ...[plain, sharded].flatMap(({ bytes, cpuUs }) => [bytes, cpuUs]),
      ...[handOver.messages, handOver.bytes, handOver.cpuUs],
      (holds.handOvers / holds.tookMs) * 1_000,
    ]);
    bounds.push(
      { figure: `${name}: overlaps`, value: holds.overlaps, exactly: 0 },
      { figure: `${name}: fencing tokens that do not rise`, value: holds.falling, exactly: 0 },
    );
  }
  return {
    title: 'Messages between the servers of a Cluster',
    note: 'Bytes of the sockets of the Cluster bus and CPU of all servers, per message or hand-over, without those of an idle Cluster.',
    columns: COLUMNS,
    rows,
    bounds,
  };
}

async function measure(size: RedisClusterSize, forMs: number) {
  const cluster = await startRedisCluster(CONFIG, size);
  const gossip = await gossipOf(cluster, forMs);
  const plain = await costOf(cluster, gossip, () => publish(cluster, 'publish', forMs));
  const sharded = await costOf(cluster, gossip, () => publish(cluster, 'spublish', forMs));
  const handedOver = await handOvers(cluster, gossip, forMs);
  await Promise.all(cluster.nodes.map(({ server }) => server.stop()));
  return { gossip, plain, sharded, ...handedOver };
}

/** Publishes messages on one server, and returns their number. */
async function publish({ masters }: RedisCluster, command: 'publish' | 'spublish', forMs: number): Promise<number> {
  const redis = new Redis(masters[0].server.url);
  const channel = await ownChannel(redis, Math.floor(SLOTS / masters.length));
  const until = performance.now() + forMs;
  let sent = 0;
  while (performance.now() < until) {
    await Promise.all(Array.from({ length: BURST }, () => redis.call(command, channel, MESSAGE)));
    sent += BURST;
    await sleep(PAUSE_MS);
  }
  redis.disconnect();
  return sent;
}

/** A channel in a slot of the first master, which serves the slots from 0 on. */
async function ownChannel(redis: Redis, slots: number): Promise<string> {
  for (let i = 0; ; i += 1) {
    const channel = `${CHANNEL}{${i}}`;
    if ((await redis.cluster('KEYSLOT', channel)) < slots) return channel;
  }
}

/** Two processes hand the lock over to each other. */
async function handOvers(cluster: RedisCluster, gossip: Gossip, forMs: number) {
  const crowd = await Crowd.start(2, { connection: { cluster: cluster.startNodes } });
  await crowd.each('warmUp', () => WARM_UP);
  let holds: Holds | undefined;
  const handOver: BusCost = await costOf(cluster, gossip, async () => {
    await crowd.each('loop', () => ({ ...LOOP, forMs }));
    holds = readHolds(crowd.holdsFiles);
    return holds.handOvers;
  });
  await crowd.end();
  return { handOver, holds: holds! };
}
