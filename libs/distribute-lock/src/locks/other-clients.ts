import { LockConfigurationError } from '../errors.js';
import {
  clusterOfNodeRedis,
  type NodeRedisClusterOptions,
  type NodeRedisOptions,
  settingsOfNodeRedis,
} from './node-redis.js';

/** The message never contains the value, which may include a password. */
export function wrong(option: string, what: string): LockConfigurationError {
  return new LockConfigurationError(`Option "${option}" ${what}.`);
}

export function has(value: object, methods: readonly string[]): boolean {
  return methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}

/**
 * The settings of a client of node-redis, or of its options, for the connections that the library opens.
 *
 * @returns `undefined` when the value has no methods of a client and no option that only node-redis has
 * @throws LockConfigurationError when the value is another client, a mock, or a client whose settings cannot be read
 */
export function settingsOfOtherClient(option: string, value: object): object | undefined {
  if (has(value, ['evalSha'])) return settingsOfClient(option, value);
  refuse(option, value);
  if ('rootNodes' in value) return ofCluster(option, value);
  return 'socket' in value || 'url' in value ? ofPrimary(option, value) : undefined;
}

function settingsOfClient(option: string, client: { options?: object; _options?: object }): object {
  const { options, _options } = client;
  if (_options !== undefined && 'rootNodes' in _options) return ofCluster(option, _options);
  if (options === undefined) {
    throw wrong(
      option,
      'is a pool, a Sentinel client, or a Cluster client of version 4 of node-redis, whose settings cannot be read. ' +
        'Pass the options of the client, { cluster: [nodes] }, or options of ioredis with "sentinels"',
    );
  }
  return settingsOf(option, options);
}

function ofPrimary(option: string, given: object): object {
  const options = given as NodeRedisOptions;
  const { url, socket: { host, port, path } = {} } = options;
  // An unset environment variable must not lead to 127.0.0.1.
  if (url === undefined && host === undefined && port === undefined && path === undefined)
    throw wrong(option, 'has neither "url" nor a host, port or path in "socket"');
  return settingsOf(option, options);
}

function settingsOf(option: string, options: NodeRedisOptions): object {
  // A client makes a provider of its user and password.
  const { username, password, credentialsProvider } = options;
  if (credentialsProvider !== undefined && username === undefined && password === undefined)
    throw wrong(
      option,
      'has a "credentialsProvider" of node-redis. Pass options without it, and the function as option "credentials"',
    );
  checkUrl(option, options);
  return settingsOfNodeRedis(options);
}

function ofCluster(option: string, options: object): object {
  const { rootNodes } = options as NodeRedisClusterOptions;
  if (!Array.isArray(rootNodes) || rootNodes.length === 0)
    throw wrong(`${option}.rootNodes`, 'must be a list of nodes');
  for (const node of rootNodes) checkUrl(`${option}.rootNodes`, node as NodeRedisOptions);
  return clusterOfNodeRedis(options as NodeRedisClusterOptions);
}

function checkUrl(option: string, { url }: NodeRedisOptions): void {
  if (url !== undefined && !(/^rediss?:\/\/./.test(url) && URL.canParse(url)))
    throw wrong(`${option}.url`, 'is not a Redis URL: write redis://host:port or rediss://host:port');
}

function refuse(option: string, value: object): void {
  if (has(value, ['customCommand'])) {
    throw wrong(
      option,
      'is a client of Valkey GLIDE, whose settings cannot be read. Pass the URL of the server, or { cluster: [nodes] }',
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
