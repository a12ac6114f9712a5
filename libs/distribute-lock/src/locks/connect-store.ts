import type { ClusterNode, RedisOptions } from 'ioredis';

import { LockConfigurationError } from '../errors.js';
import type { LockStore } from '../store/lock-store.js';
import { MemoryLockStore } from '../store/memory/memory-lock-store.js';
import { QuorumLockStore } from '../store/quorum/quorum-lock-store.js';
import { memberOver, openMember, type QuorumMember } from '../store/quorum/node-connection.js';
import type { RedisClient } from '../store/redis/redis-client.js';
import { RedisLockStore } from '../store/redis/redis-lock-store.js';
import type { RedisLockStoreSettings } from '../store/redis/redis-lock-store.js';
import type { Door, LockLog } from './door.js';
import type { ClusterConnectionOptions } from './locks-options.js';

const STORE_METHODS = ['connect', 'subscribe', 'acquire', 'release', 'renew', 'close'];
const WAYS =
  'a Redis URL, options of ioredis, { cluster: [nodes], options }, a client of ioredis, a list of three or more primaries, ' +
  'a LockStore, or "memory"';

/**
 * Creates the store of a connection without connecting yet. Clients and stores are recognised by their methods, because an
 * application may have two copies of ioredis.
 *
 * @param option - name of the option, for messages; they never contain its value, which may include a password
 * @throws LockConfigurationError when the value does not describe a connection
 */
export function connectStore(
  option: string,
  connection: unknown,
  settings: RedisLockStoreSettings,
  door: Door,
): LockStore {
  if (connection === undefined || connection === null || connection === '') {
    const what = connection === '' ? 'empty' : String(connection);
    throw new LockConfigurationError(
      `Option "${option}" of ${door.name} is ${what}. Set the environment variable from which it is read, such as REDIS_URL. It must be ${WAYS}.`,
    );
  }
  if (typeof connection === 'string') return fromText(option, connection, settings, door);
  if (typeof connection !== 'object') throw wrong(option, `is a ${typeof connection}, but it must be ${WAYS}`);
  if (Array.isArray(connection)) return connectQuorum(option, connection, settings);
  if (has(connection, ['acquire', 'release', 'renew'])) return completeStore(option, connection);
  if (isRedisClient(connection)) return RedisLockStore.over(connection, settings);
  refuseOtherClient(option, connection);
  return fromOptions(option, connection, settings);
}

function fromText(option: string, text: string, settings: RedisLockStoreSettings, { log }: Door): LockStore {
  if (text === 'memory') {
    warnOfMemory(log);
    return new MemoryLockStore();
  }
  if (isRedisUrl(text)) return RedisLockStore.open(text, settings);
  throw wrong(option, 'is not a Redis URL: write redis://host:port or rediss://host:port, or "memory"');
}

function fromOptions(option: string, options: object, settings: RedisLockStoreSettings): LockStore {
  if ('cluster' in options) return fromCluster(option, options as Partial<ClusterConnectionOptions>, settings);
  return RedisLockStore.open(checkRedisOptions(option, options, WAYS), settings);
}

function fromCluster(
  option: string,
  given: Partial<ClusterConnectionOptions>,
  settings: RedisLockStoreSettings,
): LockStore {
  const { cluster: nodes, options = {}, ...unknown } = given;
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw wrong(`${option}.${other}`, 'is not known: pass options of ioredis as "options"');
  if (!Array.isArray(nodes) || nodes.length === 0) throw wrong(`${option}.cluster`, 'must be a list of nodes');
  if (!nodes.every(isNode))
    throw wrong(`${option}.cluster`, 'has a node that is neither { host, port }, nor a URL, nor a port');
  if (typeof options !== 'object' || options === null) throw wrong(`${option}.options`, 'must be an object');
  return RedisLockStore.openCluster(nodes, options, settings);
}

/** An empty host is rejected, as for a single server: ioredis would connect to 127.0.0.1. */
function isNode(node: unknown): node is ClusterNode {
  if (typeof node === 'number') return Number.isInteger(node) && node > 0 && node < 65_536;
  if (typeof node === 'string') return /^(rediss?:\/\/)?[^/\s]+:\d+/.test(node);
  return typeof node === 'object' && node !== null && typeof (node as { host?: unknown }).host === 'string'
    ? (node as { host: string }).host !== ''
    : false;
}

function completeStore(option: string, store: object): LockStore {
  const missing = STORE_METHODS.filter((name) => !has(store, [name]));
  if (missing.length > 0) throw wrong(option, `is a LockStore without ${missing.join(', ')}`);
  return store as LockStore;
}

function warnOfMemory(log: LockLog): void {
  if (process.env['NODE_ENV'] === 'test' || process.env['JEST_WORKER_ID'] !== undefined) return;
  log.warn('Locks are kept in the memory of this process ("memory"): they do not exclude other processes.');
}

/** A majority of two nodes is both, so two nodes fail more often than one. */
const LEAST_NODES = 3;
const NODE_WAYS = 'a Redis URL, options of ioredis, or a client of ioredis';
const DEFAULT_PORT = 6379;

interface Node {
  /** Its address as configured; two nodes must not share one. */
  readonly place: unknown;
  readonly open: () => QuorumMember;
}

/**
 * Creates the store of a list of independent primaries without connecting yet.
 * @throws LockConfigurationError when the list is too short, repeats a server, or contains an entry that is not a single primary
 */
function connectQuorum(option: string, list: readonly unknown[], settings: RedisLockStoreSettings): LockStore {
  if (list.length < LEAST_NODES) {
    const length = list.length === 0 ? 'is an empty list' : `is a list of ${list.length}`;
    throw wrong(
      option,
      `${length}, but a quorum needs at least ${LEAST_NODES} independent Redis primaries, better 3, 5 or 7`,
    );
  }
  const nodes = list.map((node, i) => nodeOf(`${option}[${i}]`, node, settings));
  nodes.forEach(({ place }, i) => {
    const first = nodes.findIndex((other) => other.place === place);
    if (first < i)
      throw wrong(
        `${option}[${i}]`,
        `is the same server as "${option}[${first}]"; every node must be a separate server`,
      );
  });
  return new QuorumLockStore(nodes.map(({ open }) => open()));
}

function nodeOf(option: string, node: unknown, settings: RedisLockStoreSettings): Node {
  const { prefix, credentials } = settings;
  if (typeof node === 'string' && isRedisUrl(node)) {
    return { place: placeOfUrl(node), open: () => openMember(node, prefix, credentials) };
  }
  if (typeof node !== 'object' || node === null || Array.isArray(node)) throw noNode(option);
  if (isRedisClient(node)) return nodeOver(option, node, settings);
  refuseOtherClient(option, node);
  if ('cluster' in node) throw noNode(option);
  const options = checkRedisOptions(option, node, NODE_WAYS);
  return { place: placeOf(options), open: () => openMember(options, prefix, credentials) };
}

function nodeOver(option: string, client: RedisClient, { prefix, credentials }: RedisLockStoreSettings): Node {
  if ('isCluster' in client && client.isCluster)
    throw wrong(option, 'is a Redis Cluster, but a node is a single primary');
  return { place: placeOf(client.options), open: () => memberOver(client, prefix, credentials) };
}

const noNode = (option: string): Error => wrong(option, `is not a node of a quorum; it must be ${NODE_WAYS}`);

/** Without the database: two databases of one server fail together. */
function placeOfUrl(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === '' ? DEFAULT_PORT : port}`;
}

function placeOf({ host = 'localhost', port = DEFAULT_PORT, path, sentinels, name }: RedisOptions): string {
  if (path !== undefined && path !== null) return path;
  if (sentinels !== undefined && sentinels !== null) return JSON.stringify([name, sentinels]);
  return `${host}:${port}`;
}

/** The message never contains the value, which may include a password. */
function wrong(option: string, what: string): LockConfigurationError {
  return new LockConfigurationError(`Option "${option}" ${what}.`);
}

function has(value: object, methods: readonly string[]): boolean {
  return methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}

const isRedisClient = (value: object): value is RedisClient =>
  has(value, ['evalsha', 'duplicate', 'on', 'sendCommand']) && typeof (value as RedisClient).status === 'string';

/** @throws LockConfigurationError when the value is a client of another package, or a mock */
function refuseOtherClient(option: string, value: object): void {
  if (has(value, ['evalSha'])) {
    throw wrong(
      option,
      'is a client of node-redis (the package "redis"). Pass the URL of the server, or a client of ioredis',
    );
  }
  if ('shaScripts' in value) {
    throw wrong(
      option,
      'is a client of ioredis-mock, which is no server. Pass "memory" in tests, or the URL of a Redis',
    );
  }
  if (has(value, ['evalsha']) && !has(value, ['on'])) {
    throw wrong(
      option,
      'is a client that sends HTTP requests, such as that of Upstash, and receives no messages. Pass the rediss:// URL of the database',
    );
  }
  const isPlain = Object.getPrototypeOf(value) === Object.prototype;
  if (['evalsha', 'on', ...(isPlain ? ['get', 'set'] : [])].some((name) => has(value, [name]))) {
    throw wrong(
      option,
      'has methods, but it is no client of ioredis. Pass "memory" in tests instead of a mock, or the URL of a Redis',
    );
  }
}

const isRedisUrl = (text: string): boolean => /^rediss?:\/\/./.test(text) && URL.canParse(text);

/**
 * Checks options of ioredis for one primary, or for its Sentinels.
 * @throws LockConfigurationError when the options name no server
 */
function checkRedisOptions(option: string, options: object, ways: string): RedisOptions {
  const prototype: unknown = Object.getPrototypeOf(options);
  if (prototype !== null && prototype !== Object.prototype) {
    throw wrong(option, `is a ${options.constructor.name}, which is not supported; it must be ${ways}`);
  }
  const { host, port, path, sentinels } = options as RedisOptions;
  // An unset environment variable must not make ioredis connect to 127.0.0.1.
  if ('host' in options && (host === undefined || host === '')) throw wrong(`${option}.host`, 'is empty');
  if (host === undefined && port === undefined && path === undefined && sentinels === undefined) {
    throw wrong(option, 'has neither host, port, path nor sentinels');
  }
  return options;
}
