import type { Socket } from 'node:net';

import {
  Cluster,
  Redis,
  type ClusterNode,
  type ClusterOptions,
  type RedisOptions,
  type SentinelAddress,
} from 'ioredis';

import { follow, setSource, sourceOf, type CredentialsSource, type LockCredentials } from './credentials.js';
import { optionsInstead, ownClusterOptions, ownOptions, pauseMs } from './own-options.js';

/** A client of any copy and major version of ioredis; recognized by its methods. @public */
export type RedisClient = Redis | Cluster;

/** Whether the client sends a command now instead of queueing it. */
export const isReady = (client: RedisClient): boolean => client.status === 'ready';

/** Whether the client is closed for good. */
export const isEnded = (client: RedisClient): boolean => client.status === 'end';

/** Clients of the application that have ended because they gave up, and were not closed. */
export const gaveUp = new WeakSet<RedisClient>();

/** State of the client for messages. It mentions TLS because a server without TLS leaves the handshake unanswered. */
export function stateOf(client: RedisClient): string {
  const { tls }: RedisOptions = isCluster(client) ? (client.options.redisOptions ?? {}) : client.options;
  return client.status === 'connecting' && tls !== undefined ? 'connecting with TLS' : client.status;
}

/** Attempts of the client to reconnect since it was ready. It counts before it calls its `retryStrategy`. */
export const attemptsOf = (client: RedisClient): number =>
  (client as unknown as { retryAttempts: number }).retryAttempts;

/** Whether the connection uses RESP3, which allows commands on a subscribed connection. */
export function speaksResp3(client: RedisClient): boolean {
  const { condition } = client as { condition?: { protocol?: unknown } | null };
  return condition?.protocol === 3;
}

/**
 * The key prefix in the options of a client. The library adds it to its own prefix and opens its connections without it:
 * the client would add it to the names of keys only, but helper keys and channels contain the prefix, too.
 */
export function keyPrefixOf({ keyPrefix, redisOptions }: RedisOptions & ClusterOptions): string {
  return keyPrefix || redisOptions?.keyPrefix || '';
}

/** Opens a client with options or a URL. Returns it without its key prefix, and that prefix. */
export function openRedis(
  from: RedisOptions | string,
  credentials?: CredentialsSource,
): { readonly client: Redis; readonly keyPrefix: string } {
  const client = typeof from === 'string' ? new Redis(from, ownOptions({})) : new Redis(ownOptions(from));
  const keyPrefix = keyPrefixOf(client.options);
  // A URL overrides other options, so the prefix is removed afterwards.
  client.options.keyPrefix = '';
  const source = credentials ?? (typeof from === 'string' ? undefined : () => from);
  return { client: source === undefined ? client : follow(client, source), keyPrefix };
}

/** Opens a Cluster client. */
export function openCluster(
  nodes: readonly ClusterNode[],
  options: ClusterOptions,
  credentials: CredentialsSource | undefined,
): Cluster {
  const client = new Cluster([...nodes], ownClusterOptions(options));
  const { redisOptions } = options;
  const source = credentials ?? (redisOptions === undefined ? undefined : () => redisOptions);
  return source === undefined ? client : follow(client, source);
}

/**
 * Opens another client with the current configuration of the given one. The application's client is only a template:
 * the library never writes to it, so its transactions and blocking commands do not affect locks. The new client uses
 * the database that was selected last. It connects with the credentials that the given client has at that time.
 */
export function another(given: RedisClient, credentials?: CredentialsSource): RedisClient {
  setSource(given, credentials);
  const own = isCluster(given) ? anotherCluster(given) : anotherRedis(given);
  if (isEnded(given) && !gaveUp.has(given)) own.disconnect();
  return own;
}

function anotherRedis(given: Redis): Redis {
  const { condition } = given as { condition?: { readonly select?: number } | null };
  const options: RedisOptions = {
    ...optionsInstead(given.options),
    db: condition?.select ?? given.options.db ?? 0,
    retryStrategy: (times) => {
      const { sentinelUsername, sentinelPassword } = given.options;
      Object.assign(own.options, { sentinelUsername, sentinelPassword });
      return pauseMs(times);
    },
  };
  const own: Redis = given.duplicate(options);
  return follow(own, sourceOf(given) ?? (() => given.options as LockCredentials));
}

function anotherCluster(given: Cluster): Cluster {
  const redisOptions = given.options.redisOptions ?? {};
  const { retryStrategy: _, ...instead } = optionsInstead(redisOptions);
  const own = given.duplicate([], {
    clusterRetryStrategy: pauseMs,
    enableAutoPipelining: false,
    enableOfflineQueue: true,
    keyPrefix: '',
    lazyConnect: true,
    redisOptions: { ...redisOptions, ...instead },
  });
  return follow(own, sourceOf(given) ?? (() => given.options.redisOptions ?? {}));
}

const CLIENT_METHODS = ['evalsha', 'duplicate', 'on', 'sendCommand'];

/** Whether the value is a client of ioredis. Its methods tell, because an application may have two copies of ioredis. */
export const isRedisClient = (value: object): value is RedisClient =>
  CLIENT_METHODS.every((name) => typeof (value as Record<string, unknown>)[name] === 'function') &&
  typeof (value as RedisClient).status === 'string';

/** Whether the client is a Redis Cluster client. */
export const isCluster = (client: RedisClient): client is Cluster => 'isCluster' in client && client.isCluster;

/** Kind and address of the configured server for messages, without credentials. */
export function addressOf(client: RedisClient): string {
  if (isCluster(client)) {
    const { startupNodes } = client as unknown as { readonly startupNodes: readonly ClusterNode[] };
    return `Redis Cluster ${startupNodes.map(addressOfNode).join(', ')}`;
  }
  const { host, port, path, sentinels, name } = client.options;
  if (sentinels) return `Redis "${name}" of Sentinel ${sentinels.map(addressOfNode).join(', ')}`;
  return `Redis ${path ?? addressOfNode({ host, port })}`;
}

/** The name that the client of a Cluster gives to a node. */
export const nameOf = ({ options: { host, port } }: Redis): string => `${host}:${port}`;

/** Kind and address of one node of a Cluster for messages. */
export const addressOfMember = (name: string): string => `Redis Cluster node ${name}`;

function addressOfNode(node: ClusterNode | Partial<SentinelAddress>): string {
  if (typeof node === 'number') return `127.0.0.1:${node}`;
  if (typeof node === 'string') return node.replace(/^.*(\/\/|@)/, '').replace(/\/.*$/, '');
  return `${node.host ?? 'localhost'}:${node.port ?? ''}`;
}

/** Remote address of the connection as `host port`. */
export function peerOf(client: RedisClient): string {
  if (isCluster(client)) return '';
  const { remoteAddress, remotePort } = client.stream as Partial<Socket>;
  return `${remoteAddress} ${remotePort}`;
}
