import type { ClusterNode, RedisOptions } from 'ioredis';

import { LockConfigurationError } from '../errors.js';
import type { LockStore } from '../store/lock-store.js';
import { MemoryLockStore } from '../store/memory/memory-lock-store.js';
import { QuorumLockStore } from '../store/quorum/quorum-lock-store.js';
import { openMember, type QuorumMember } from '../store/quorum/node-connection.js';
import type { RedisSource } from '../store/redis/connection-to.js';
import { isCluster, isRedisClient, type RedisClient } from '../store/redis/redis-client.js';
import { RedisLockStore } from '../store/redis/redis-lock-store.js';
import type { RedisLockStoreSettings } from '../store/redis/redis-lock-store.js';
import type { Door, LockLog } from './door.js';
import { isDecodable } from './node-redis.js';
import { has, settingsOfOtherClient, wrong } from './other-clients.js';
import type { ClusterConnectionOptions } from './locks-options.js';

const STORE_METHODS = ['connect', 'subscribe', 'acquire', 'release', 'renew', 'close'];
const WAYS =
  'a Redis URL, options or a client of ioredis or node-redis, { cluster: [nodes], options }, a client of iovalkey, ' +
  'a list of three or more primaries, a LockStore, or "memory"';

/**
 * Creates the store of a connection without connecting yet. Clients and stores are recognised by their methods, because an
 * application may have two copies of ioredis.
 *
 * @param option - name of the option, for messages; they never contain its value, which may include a password
 * @throws LockConfigurationError when the value does not describe a connection, or has no replicas for `durability`
 */
export function connectStore(
  option: string,
  connection: unknown,
  settings: RedisLockStoreSettings,
  { name, log }: Door,
): LockStore {
  if (connection === undefined || connection === null || connection === '') {
    const what = connection === '' ? 'empty' : String(connection);
    throw new LockConfigurationError(
      `Option "${option}" of ${name} is ${what}. Set the environment variable from which it is read, such as REDIS_URL. It must be ${WAYS}.`,
    );
  }
  const isList = Array.isArray(connection);
  const isStore = typeof connection === 'object' && has(connection, ['acquire', 'release', 'renew']);
  if (connection !== 'memory' && !isList && !isStore)
    return RedisLockStore.open(redisSource(option, connection), settings);
  if (settings.durability !== undefined) throw withoutReplicas(option);
  if (isList) return connectQuorum(option, connection, settings);
  if (isStore) return completeStore(option, connection);
  warnOfMemory(log);
  return new MemoryLockStore();
}

/** The option is never ignored. */
const withoutReplicas = (option: string): LockConfigurationError =>
  new LockConfigurationError(
    `Option "durability" is not supported by "${option}": only a Redis primary, Sentinel and Cluster have replicas.`,
  );

function redisSource(option: string, connection: unknown): RedisSource {
  if (typeof connection === 'string') {
    if (isRedisUrl(connection)) return checkDatabase(option, connection);
    throw wrong(
      option,
      'is not a Redis URL: write redis://host:port or rediss://host:port, with %25 for a "%", or "memory"',
    );
  }
  if (typeof connection !== 'object' || connection === null)
    throw wrong(option, `is a ${typeof connection}, but it must be ${WAYS}`);
  if (isRedisClient(connection)) return connection;
  const settings = settingsOfOtherClient(option, connection) ?? connection;
  return 'cluster' in settings ? clusterSource(option, settings) : checkRedisOptions(option, settings, WAYS);
}

function clusterSource(option: string, given: object): RedisSource {
  const { cluster: nodes, options = {}, ...unknown } = given as Partial<ClusterConnectionOptions>;
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw wrong(`${option}.${other}`, 'is not known: pass options of ioredis as "options"');
  if (!Array.isArray(nodes) || nodes.length === 0) throw wrong(`${option}.cluster`, 'must be a list of nodes');
  if (!nodes.every(isNode))
    throw wrong(`${option}.cluster`, 'has a node that is neither { host, port }, nor a URL, nor a port');
  if (typeof options !== 'object' || options === null) throw wrong(`${option}.options`, 'must be an object');
  return { cluster: nodes, options };
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
const NODE_WAYS = 'a Redis URL, or options or a client of ioredis or node-redis';
const DEFAULT_PORT = 6379;

interface Node {
  /** Its address as configured; two nodes must not share one. */
  readonly server: unknown;
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
  nodes.forEach(({ server }, i) => {
    const first = nodes.findIndex((other) => other.server === server);
    if (first < i)
      throw wrong(
        `${option}[${i}]`,
        `is the same server as "${option}[${first}]"; every node must be a separate server`,
      );
  });
  return new QuorumLockStore(nodes.map(({ open }) => open()));
}

function nodeOf(option: string, node: unknown, { prefix, credentials }: RedisLockStoreSettings): Node {
  const of = (server: unknown, source: string | RedisOptions | RedisClient): Node => ({
    server,
    open: () => openMember(source, prefix, credentials),
  });
  if (typeof node === 'string' && isRedisUrl(node)) return of(serverOfUrl(node), checkDatabase(option, node));
  if (typeof node !== 'object' || node === null || Array.isArray(node)) throw noNode(option);
  if (isRedisClient(node)) {
    if (isCluster(node)) throw wrong(option, 'is a Redis Cluster, but a node is a single primary');
    return of(serverOf(node.options), node);
  }
  const settings = settingsOfOtherClient(option, node) ?? node;
  if ('cluster' in settings) throw noNode(option);
  const options = checkRedisOptions(option, settings, NODE_WAYS);
  return of(serverOf(options), options);
}

const noNode = (option: string): Error => wrong(option, `is not a node of a quorum; it must be ${NODE_WAYS}`);

/** Without the database: two databases of one server fail together. */
function serverOfUrl(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === '' ? DEFAULT_PORT : port}`;
}

function serverOf({ host = 'localhost', port = DEFAULT_PORT, path, sentinels, name }: RedisOptions): string {
  if (path !== undefined && path !== null) return path;
  if (sentinels !== undefined && sentinels !== null) return JSON.stringify([name, sentinels]);
  return `${host}:${port}`;
}

/** ioredis throws for a user or a password that cannot be decoded. */
const isRedisUrl = (text: string): boolean =>
  /^rediss?:\/\/./.test(text) && URL.canParse(text) && isDecodable(new URL(text));

/**
 * Checks options of ioredis for one primary, or for its Sentinels.
 * @throws LockConfigurationError when the options name no server
 */
function checkRedisOptions(option: string, options: object, ways: string): RedisOptions {
  const prototype: unknown = Object.getPrototypeOf(options);
  if (prototype !== null && prototype !== Object.prototype) {
    throw wrong(option, `is a ${options.constructor.name}, which is not supported; it must be ${ways}`);
  }
  const { host, port, path, sentinels, db } = options as RedisOptions;
  // An unset environment variable must not make ioredis connect to 127.0.0.1.
  if ('host' in options && (host === undefined || host === '')) throw wrong(`${option}.host`, 'is empty');
  if (host === undefined && port === undefined && path === undefined && sentinels === undefined) {
    throw wrong(option, 'has neither host, port, path nor sentinels');
  }
  if (!isDatabase(db ?? 0)) throw wrong(`${option}.db`, 'is not a whole number');
  return options;
}

const isDatabase = (db: unknown): boolean => /^\d+$/.test(String(db));

/** The client would end the process with an error that no code can catch. */
function checkDatabase(option: string, url: string): string {
  const { pathname, searchParams } = new URL(url);
  const db = searchParams.get('db') ?? pathname.slice(1);
  if (db !== '' && !isDatabase(db)) throw wrong(option, 'has a database that is not a whole number');
  return url;
}
