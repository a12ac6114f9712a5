import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

import type { RedisCluster } from '../../support/redis-cluster.js';
import { numberIn, read } from './server-load.js';

const MOST_OUTPUT = 64 * 2 ** 20;
const MESSAGES = ['cluster_stats_messages_publish_sent:', 'cluster_stats_messages_publishshard_sent:'];

/** What an idle Cluster sends and computes. */
export interface Gossip {
  readonly bytesPerMs: number;
  readonly cpuUsPerMs: number;
}

/** What one event costs all servers together. */
export interface BusCost {
  readonly bytes: number;
  readonly messages: number;
  readonly cpuUs: number;
}

interface BusReading {
  readonly at: number;
  readonly bytes: number;
  readonly messages: number;
  readonly cpuMs: number;
}

export async function gossipOf(cluster: RedisCluster, forMs: number): Promise<Gossip> {
  const none = { bytesPerMs: 0, cpuUsPerMs: 0 };
  const { bytes, cpuUs } = await costOf(cluster, none, () => sleep(forMs).then(() => 1));
  return { bytesPerMs: bytes / forMs, cpuUsPerMs: cpuUs / forMs };
}

/** The cost of each event of `work`, which returns their number. */
export async function costOf(cluster: RedisCluster, idle: Gossip, work: () => Promise<number>): Promise<BusCost> {
  const before = await readBus(cluster);
  const events = await work();
  const after = await readBus(cluster);
  const tookMs = after.at - before.at;
  return {
    bytes: (after.bytes - before.bytes - idle.bytesPerMs * tookMs) / events,
    messages: (after.messages - before.messages) / events,
    cpuUs: ((after.cpuMs - before.cpuMs) * 1_000 - idle.cpuUsPerMs * tookMs) / events,
  };
}

async function readBus({ nodes }: RedisCluster): Promise<BusReading> {
  const servers = nodes.map(({ server }) => server);
  const { cpuMs } = await read(...servers);
  const infos = await Promise.all(servers.map((server) => server.run((redis) => redis.cluster('INFO'))));
  const messages = infos.flatMap((info) => MESSAGES.map((label) => numberIn(info, label)));
  const bytes = bytesSent(servers.map(({ busPort }) => busPort!));
  return { at: performance.now(), bytes, messages: messages.reduce((sum, count) => sum + count, 0), cpuMs };
}

/**
 * Bytes that went over the open connections of these loopback ports, in both directions, according to `ss` of iproute2. Redis does
 * not count the bytes of its Cluster bus.
 */
function bytesSent(ports: readonly number[]): number {
  const wanted = new Set(ports.map(String));
  const args = ['--tcp', '--info', '--numeric', '--no-header', '--oneline', 'state', 'established'];
  const lines = execFileSync('ss', args, { encoding: 'utf8', maxBuffer: MOST_OUTPUT }).split('\n');
  let sum = 0;
  for (const line of lines) {
    // Each connection has two sockets here, and each of them counts what it sent.
    const [, local, peer] = /^\d+\s+\d+\s+\S+:(\d+)\s+\S+:(\d+)/.exec(line) ?? [];
    if (wanted.has(local) || wanted.has(peer)) sum += Number(/\bbytes_sent:(\d+)/.exec(line)?.[1] ?? 0);
  }
  return sum;
}
