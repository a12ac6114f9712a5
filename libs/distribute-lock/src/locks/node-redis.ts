import type { ClusterNode, ClusterOptions, RedisOptions } from 'ioredis';

import { defined } from '../options/values.js';
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
  readonly keyPrefix?: string;
}

/** Options of the socket that are not about TLS. All others of a socket with `tls: true` are options of TLS. */
const NOT_TLS: ReadonlySet<string> = new Set([
  ...['host', 'port', 'path', 'family', 'tls', 'connectTimeout', 'socketTimeout', 'reconnectStrategy'],
  ...['keepAlive', 'keepAliveInitialDelay', 'noDelay'],
]);

/**
 * Settings of a primary. User and password are read at each connect, because the application may change them.
 * @param options - those of a client, which contain what it has read from its URL; or the result of {@link withUrl}
 */
export function settingsOfNodeRedis(options: NodeRedisOptions): RedisOptions {
  const { database, keyPrefix } = options;
  const settings = { ...serverOf(options.socket), ...defined({ keyPrefix }), db: database ?? 0 };
  return withCredentials(settings, options);
}

/** Settings of a Cluster, whose nodes have the `defaults` in common. */
export function clusterOfNodeRedis(options: NodeRedisClusterOptions): ClusterSource {
  const { defaults = {}, nodeAddressMap, keyPrefix } = options;
  const rootNodes = options.rootNodes.map((node) => withUrl(node));
  const servers = rootNodes.map(({ socket }) => serverOf({ ...defaults.socket, ...socket }));
  const [{ host: _host, port: _port, ...common }] = servers;
  const natMap = nodeAddressMap as ClusterOptions['natMap'];
  return {
    cluster: servers.map(({ host, port }): ClusterNode => ({ host, port })),
    options: {
      redisOptions: withCredentials({ ...common }, hasCredentials(defaults) ? defaults : rootNodes[0]),
      ...defined({ natMap, keyPrefix }),
    },
  };
}

/**
 * The options of an application with what their URL says, which has precedence, as in node-redis.
 * @throws TypeError, URIError when the URL is invalid; see {@link isNodeRedisUrl}
 */
export function withUrl(options: NodeRedisOptions): NodeRedisOptions {
  if (options.url === undefined) return options;
  const { protocol, hostname, port, username, password, pathname } = new URL(options.url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const tls = protocol === 'rediss:' || options.socket?.tls;
  const socket = { ...options.socket, host, ...defined({ port: port === '' ? undefined : Number(port), tls }) };
  const database = pathname.slice(1);
  return {
    ...options,
    socket,
    ...(database === '' ? {} : { database: Number(database) }),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}

/** Whether node-redis accepts the URL of a server. */
export function isNodeRedisUrl(url: string): boolean {
  if (!/^rediss?:\/\/./.test(url) || !URL.canParse(url)) return false;
  const parsed = new URL(url);
  return isDecodable(parsed) && /^\/?\d*$/.test(parsed.pathname);
}

/** Whether each "%" of user and password begins an escape. */
export function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

function serverOf(socket: NodeRedisSocket = {}): RedisOptions {
  const { host = 'localhost', port = 6379, path, family, connectTimeout, tls } = socket;
  const ofTls = Object.fromEntries(Object.entries(socket).filter(([name]) => !NOT_TLS.has(name)));
  return {
    ...(path === undefined ? { host, port } : { path }),
    ...defined({ family, connectTimeout }),
    ...(tls === true ? { tls: ofTls } : {}),
  };
}

const hasCredentials = ({ username, password }: NodeRedisOptions): boolean =>
  username !== undefined || password !== undefined;

function withCredentials(settings: RedisOptions, options: NodeRedisOptions): RedisOptions {
  return Object.defineProperties(settings, {
    username: { enumerable: true, get: () => options.username },
    password: { enumerable: true, get: () => options.password },
  });
}
