import type { RedisOptions } from 'ioredis';

import type { LockStore } from '../../store/lock-store.js';
import { QuorumLockStore, type QuorumMember } from '../../store/quorum/quorum-lock-store.js';
import type { RedisClient } from '../../store/redis/redis-client.js';
import { memberOver, openMember } from '../../store/quorum/redis-members.js';
import { checkRedisOptions, isRedisClient, isRedisUrl, wrong } from './connection-checks.js';

/** Of two nodes each is needed, so they are worse than one. */
const LEAST_NODES = 3;
const NODE_WAYS = 'a Redis URL, options of ioredis, or a client of ioredis';
const DEFAULT_PORT = 6379;

interface Node {
  /** Where it is, as far as that can be told before it is asked. */
  readonly place: unknown;
  readonly open: () => QuorumMember;
}

/**
 * Makes the store of a list of independent primaries, without connecting yet.
 * @throws LockConfigurationError when they are too few, one stands there twice, or one is no single primary
 */
export function connectQuorum(option: string, list: readonly unknown[], prefix: string): LockStore {
  if (list.length < LEAST_NODES) {
    const has = list.length === 0 ? 'is an empty list' : `is a list of ${list.length}`;
    throw wrong(
      option,
      `${has}, but a quorum needs at least ${LEAST_NODES} independent Redis primaries, better 3, 5 or 7`,
    );
  }
  const nodes = list.map((node, i) => nodeOf(`${option}[${i}]`, node, prefix));
  nodes.forEach(({ place }, i) => {
    const first = nodes.findIndex((other) => other.place === place);
    if (first < i)
      throw wrong(`${option}[${i}]`, `is the same server as "${option}[${first}]"; every node must be one of its own`);
  });
  return new QuorumLockStore(nodes.map(({ open }) => open()));
}

function nodeOf(option: string, node: unknown, prefix: string): Node {
  if (typeof node === 'string' && isRedisUrl(node)) {
    return { place: placeOfUrl(node), open: () => openMember(node, prefix) };
  }
  if (typeof node !== 'object' || node === null || Array.isArray(node)) throw noNode(option);
  if (isRedisClient(node)) return nodeOver(option, node, prefix);
  if ('cluster' in node) throw noNode(option);
  const options = checkRedisOptions(option, node, NODE_WAYS);
  return { place: placeOf(options), open: () => openMember(options, prefix) };
}

function nodeOver(option: string, client: RedisClient, prefix: string): Node {
  if ('isCluster' in client && client.isCluster)
    throw wrong(option, 'is a Redis Cluster, but a node is a single primary');
  return { place: placeOf(client.options), open: () => memberOver(client, prefix) };
}

const noNode = (option: string): Error => wrong(option, `is no node of a quorum; it must be ${NODE_WAYS}`);

/** Another database of the same server fails with it. */
function placeOfUrl(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === '' ? DEFAULT_PORT : port}`;
}

function placeOf({ host = 'localhost', port = DEFAULT_PORT, path, sentinels, name }: RedisOptions): string {
  if (path !== undefined && path !== null) return path;
  if (sentinels !== undefined && sentinels !== null) return JSON.stringify([name, sentinels]);
  return `${host}:${port}`;
}
