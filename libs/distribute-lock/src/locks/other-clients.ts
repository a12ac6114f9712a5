import { LockConfigurationError } from '../errors.js';
import {
  clusterOfNodeRedis,
  isNodeRedisUrl,
  type NodeRedisClusterOptions,
  type NodeRedisOptions,
  settingsOfNodeRedis,
  withUrl,
} from './node-redis.js';

/** The message never contains the value, which may include a password. */
export function wrong(option: string, what: string): LockConfigurationError {
  return new LockConfigurationError(`Option "${option}" ${what}.`);
}

export function has(value: object, methods: readonly string[]): boolean {
  return methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}

/** Options of ioredis that node-redis does not have. */
const OF_IOREDIS = ['host', 'port', 'path', 'tls', 'sentinels', 'db', 'cluster'];

/**
 * The settings of a client of node-redis, or of its options, for the connections that the library opens.
 *
 * @returns `undefined` when the value has no methods of a client and no option that only node-redis has
 * @throws LockConfigurationError when the value is another client, a mock, or has settings that cannot be read
 */
export function settingsOfOtherClient(option: string, value: object): object | undefined {
  if (has(value, ['evalSha'])) return settingsOfClient(option, value);
  refuse(option, value);
  if (OF_IOREDIS.some((name) => name in value)) return undefined;
  if ('rootNodes' in value) return ofCluster(option, value);
  return 'socket' in value || 'url' in value ? ofPrimary(option, value as NodeRedisOptions) : undefined;
}

function settingsOfClient(option: string, client: { options?: NodeRedisOptions; _options?: object }): object {
  const { options, _options } = client;
  if (_options !== undefined && 'rootNodes' in _options) return ofCluster(option, _options);
  if (options === undefined) {
    throw wrong(
      option,
      'is a pool, a Sentinel client, or a Cluster client of version 4 of node-redis, whose settings cannot be read. ' +
        'Pass the options of the client, { cluster: [nodes] }, or options of ioredis with "sentinels"',
    );
  }
  checkProvider(option, options);
  return settingsOfNodeRedis(options);
}

function ofPrimary(option: string, options: NodeRedisOptions): object {
  checkServer(option, options);
  checkProvider(option, options);
  return settingsOfNodeRedis(withUrl(options));
}

function ofCluster(option: string, given: object): object {
  const { rootNodes, defaults = {} } = given as NodeRedisClusterOptions;
  if (!Array.isArray(rootNodes) || rootNodes.length === 0)
    throw wrong(`${option}.rootNodes`, 'must be a list of nodes');
  rootNodes.forEach((node: NodeRedisOptions, index) => {
    checkServer(`${option}.rootNodes[${index}]`, node);
    checkProvider(`${option}.rootNodes[${index}]`, node);
  });
  checkProvider(`${option}.defaults`, defaults);
  return clusterOfNodeRedis(given as NodeRedisClusterOptions);
}

/** An unset environment variable must not lead to 127.0.0.1. */
function checkServer(option: string, options: NodeRedisOptions): void {
  if (!isObject(options)) throw wrong(option, 'must be an object');
  const { url, socket = {} } = options;
  if (!isObject(socket)) throw wrong(`${option}.socket`, 'must be an object');
  if (url !== undefined) {
    if (typeof url === 'string' && isNodeRedisUrl(url)) return;
    throw wrong(`${option}.url`, 'is not a Redis URL: write redis://host:port or rediss://host:port');
  }
  const { host, port, path } = socket;
  if ('host' in socket && (host === undefined || host === '')) throw wrong(`${option}.socket.host`, 'is empty');
  if (host === undefined && port === undefined && path === undefined)
    throw wrong(option, 'has neither "url" nor a host, port or path in "socket"');
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** A client makes a provider of its user and password. */
function checkProvider(option: string, { username, password, credentialsProvider }: NodeRedisOptions): void {
  if (credentialsProvider === undefined || username !== undefined || password !== undefined) return;
  throw wrong(
    option,
    'has a "credentialsProvider" of node-redis. Pass options without it, and the function as option "credentials"',
  );
}

function refuse(option: string, value: object): void {
  if (has(value, ['customCommand'])) {
    throw wrong(
      option,
      'is a client of Valkey GLIDE, whose settings cannot be read. Pass the URL of the server, or { cluster: [nodes] }',
    );
  }
  if ('sentinelRootNodes' in value) {
    throw wrong(
      option,
      'has options of a Sentinel client of node-redis. Pass options of ioredis: { sentinels: [{ host, port }], name }',
    );
  }
  if ('addresses' in value) {
    throw wrong(option, 'has options of a client of Valkey GLIDE. Pass the URL of the server, or { cluster: [nodes] }');
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
      'is an HTTP client, such as that of Upstash, and gets no messages. Pass the rediss:// URL of the server',
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
