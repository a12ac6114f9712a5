import { setTimeout as pause } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { SettingError } from '../settings/setting-error.js';
import type { PrivateServer, PrivateServerOptions } from './private-server.js';

const TOPOLOGIES = ['single', 'sentinel', 'cluster', 'quorum'] as const;
export type Topology = (typeof TOPOLOGIES)[number];

type Start = (options?: PrivateServerOptions) => Promise<PrivateServer>;

const HOST = '127.0.0.1';
const SLOTS = 16_384;
const MASTERS = 3;
const FORMS_WITHIN_MS = 20_000;

/** Parses the value of `--topology`. */
export function topologyOf(name = 'single'): Topology {
  const found = TOPOLOGIES.find((topology) => topology === name);
  if (found === undefined) throw new SettingError(`--topology is "${name}", but it must be ${TOPOLOGIES.join(', ')}.`);
  return found;
}

/** Starts the servers of a topology; returns the connection of the instances, as text. */
export async function startTopology(topology: Topology, start: Start): Promise<string> {
  if (topology === 'single') return urlOf(await start());
  const connection = await { sentinel: sentinels, cluster, quorum }[topology](start);
  return JSON.stringify(connection);
}

async function quorum(start: Start): Promise<string[]> {
  return (await many(5, start)).map(urlOf);
}

async function sentinels(start: Start) {
  const [primary, ...replicas] = await many(3, start);
  for (const replica of replicas) await tell(replica, 'REPLICAOF', HOST, primary.port);
  const watchers = await many(3, () => start({ sentinel: true }));
  for (const watcher of watchers) {
    await tell(watcher, 'SENTINEL', 'MONITOR', 'demo', HOST, primary.port, 2);
    await tell(watcher, 'SENTINEL', 'SET', 'demo', 'down-after-milliseconds', 1_000, 'failover-timeout', 3_000);
  }
  return { sentinels: watchers.map(({ port }) => ({ host: HOST, port })), name: 'demo' };
}

async function cluster(start: Start) {
  const args = ['--cluster-node-timeout', '2000'];
  const nodes = await many(2 * MASTERS, () => start({ clusterNode: true, args }));
  const masters = nodes.slice(0, MASTERS);
  for (const [i, master] of masters.entries()) {
    const [from, to] = [i, i + 1].map((at) => Math.floor((at * SLOTS) / MASTERS));
    await tell(master, 'CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
    await tell(master, 'CLUSTER', 'ADDSLOTSRANGE', from, to - 1);
  }
  for (const node of nodes) await tell(masters[0], 'CLUSTER', 'MEET', HOST, node.port, String(node.busPort));
  await untilAll(nodes, 'cluster_known_nodes:6');
  for (const [i, replica] of nodes.slice(MASTERS).entries()) {
    await tell(replica, 'CLUSTER', 'REPLICATE', String(await tell(masters[i], 'CLUSTER', 'MYID')));
  }
  await untilAll(nodes, 'cluster_state:ok');
  return { cluster: nodes.map(({ port }) => ({ host: HOST, port })) };
}

async function untilAll(nodes: readonly PrivateServer[], fact: string): Promise<void> {
  const until = performance.now() + FORMS_WITHIN_MS;
  for (const node of nodes) {
    while (!String(await tell(node, 'CLUSTER', 'INFO')).includes(fact)) {
      if (performance.now() > until) throw new Error(`The Redis Cluster did not form: no ${fact}.`);
      await pause(50);
    }
  }
}

async function tell({ port }: PrivateServer, ...words: [string, ...(string | number)[]]): Promise<unknown> {
  const redis = new Redis(port, HOST, { retryStrategy: () => null });
  try {
    return await redis.call(...words);
  } finally {
    redis.disconnect();
  }
}

const many = <T>(count: number, start: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, () => start()));

const urlOf = ({ port }: PrivateServer): string => `redis://${HOST}:${port}`;
