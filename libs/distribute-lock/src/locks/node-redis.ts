import type { ClusterNode, ClusterOptions, RedisOptions } from 'ioredis';

import type { ClusterSource } from '../store/redis/connection-to.js';

/**
 * A client of node-redis, version 4 to 6. Only its settings are read.
 * @public
 */
export interface NodeRedisClient {
  readonly evalSha: (...args: never[]) => unknown;
}

/**
 * The options of node-redis that say where and how to connect.
 * @public
 */
export interface NodeRedisOptions {
  readonly url?: string;
  readonly socket?: NodeRedisSocket;
  readonly username?: string;
  readonly password?: string;
  readonly database?: number;
  readonly keyPrefix?: string;
  readonly credentialsProvider?: unknown;
}

/**
 * Options of the socket of node-redis; with `tls: true`, all others are options of TLS.
 * @public
 */
export interface NodeRedisSocket {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly family?: number;
  readonly tls?: boolean | undefined;
  readonly connectTimeout?: number;
}

/**
 * The same options of the Cluster client of node-redis.
 * @public
 */
export interface NodeRedisClusterOptions {
  readonly rootNodes: readonly NodeRedisOptions[];
  readonly defaults?: NodeRedisOptions;
  readonly nodeAddressMap?: unknown;
}

/** Options of the socket that are not about TLS. All others of a socket with `tls: true` are options of TLS. */
const NOT_TLS: ReadonlySet<string> = new Set(
  'host port path family tls connectTimeout socketTimeout reconnectStrategy keepAlive keepAliveInitialDelay noDelay'.split(
    ' ',
  ),
);

/** Settings of a primary. User and password are read at each connect, because the client of the application may change them. */
export function settingsOfNodeRedis(options: NodeRedisOptions): RedisOptions {
  const { database, keyPrefix } = options;
  const { db, ...server } = serverOf(options);
  return withCredentials(
    { ...server, ...(keyPrefix === undefined ? {} : { keyPrefix }), db: database ?? db ?? 0 },
    options,
  );
}

/** Settings of a Cluster, whose nodes have the `defaults` in common. */
export function clusterOfNodeRedis({
  rootNodes,
  defaults = {},
  nodeAddressMap,
}: NodeRedisClusterOptions): ClusterSource {
  const servers = rootNodes.map((node) => serverOf({ ...node, socket: { ...defaults.socket, ...node.socket } }));
  const [{ host: _host, port: _port, db: _db, ...common }] = servers;
  const natMap = nodeAddressMap as ClusterOptions['natMap'];
  return {
    cluster: servers.map(({ host, port }): ClusterNode => ({ host, port })),
    options: {
      redisOptions: withCredentials({ ...common }, hasCredentials(defaults) ? defaults : rootNodes[0]),
      ...(natMap === undefined ? {} : { natMap }),
    },
  };
}

/** Address and TLS. A client of node-redis has its URL and what it read from it; the options of an application have the URL only. */
function serverOf({ url, socket = {} }: NodeRedisOptions): RedisOptions {
  const read = partsOf(url);
  const { host = read.host, port = read.port, path, family, connectTimeout, tls = read.tls } = socket;
  const ofTls = Object.fromEntries(Object.entries(socket).filter(([name]) => !NOT_TLS.has(name)));
  return {
    ...(path === undefined ? { host: host ?? 'localhost', port: port ?? 6379 } : { path }),
    ...(family === undefined ? {} : { family }),
    ...(connectTimeout === undefined ? {} : { connectTimeout }),
    ...(tls === true ? { tls: ofTls } : {}),
    ...(read.db === undefined ? {} : { db: read.db }),
  };
}

interface UrlParts {
  readonly host?: string;
  readonly port?: number;
  readonly tls?: boolean;
  readonly db?: number;
  readonly username?: string;
  readonly password?: string;
}

/** Reads a URL as node-redis does. */
function partsOf(url: string | undefined): UrlParts {
  if (url === undefined) return {};
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  const database = pathname.slice(1);
  return {
    host: hostname,
    ...(port === '' ? {} : { port: Number(port) }),
    ...(protocol === 'rediss:' ? { tls: true } : {}),
    ...(database === '' ? {} : { db: Number(database) }),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}

const hasCredentials = ({ username, password }: NodeRedisOptions): boolean =>
  username !== undefined || password !== undefined;

function withCredentials(settings: RedisOptions, options: NodeRedisOptions): RedisOptions {
  const ofUrl = partsOf(options.url);
  return Object.defineProperties(settings, {
    username: { enumerable: true, get: () => options.username ?? ofUrl.username },
    password: { enumerable: true, get: () => options.password ?? ofUrl.password },
  });
}
