import { Cluster, Redis, type RedisOptions } from 'ioredis';

import type { RedisClient } from '../../../distribute-lock/src/store/redis/redis-client.js';
import { messageOf, redacted } from '../../../distribute-lock/src/store/redis/redis-errors.js';
import { RedisKeys, slotOf } from '../../../distribute-lock/src/store/redis/redis-keys.js';
import type { Place } from '../connection-url.js';

const LIMITS: RedisOptions = { connectTimeout: 5_000, commandTimeout: 5_000 };
/** The command has one try: a check reports what it finds, and repeats nothing. */
const ONE_TRY: RedisOptions = {
  ...LIMITS,
  lazyConnect: true,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
  // Its INFO may be refused.
  enableReadyCheck: false,
  autoResubscribe: false,
};

export type Topology = 'one server' | 'Sentinel' | 'Cluster' | 'quorum';

/** A server with its address. */
export interface Server {
  readonly address: string;
  readonly client: Redis;
}

/** The servers that are checked, with a connection to each. */
export interface Target {
  readonly place: Place;
  readonly topology: Topology;
  readonly prefix: string;
  readonly keys: RedisKeys;
  /** The servers with locks: the primary, the masters of a Cluster, or the nodes of a quorum. */
  readonly servers: readonly Server[];
  readonly sentinels: readonly Server[];
  /** The name of the primary at its Sentinels. */
  readonly primaryName: string;
  /** The client for commands about any key; of a quorum, the client of its first node. */
  readonly client: RedisClient;
  close(): void;
}

/** No server can be checked: exit code 69. */
export class UnreachableError extends Error {}

/** @throws UnreachableError when a server does not respond or refuses the user */
export async function openTarget(place: Place, prefix: string): Promise<Target> {
  const opened: { disconnect(): void }[] = [];
  const close = (): void => opened.forEach((client) => client.disconnect());
  try {
    const { topology, client, servers, sentinels } = await open(place, (one) => (opened.push(one), quiet(one)));
    const keys = new RedisKeys(takeKeyPrefix(servers) + prefix);
    const primaryName = typeof place === 'object' && 'name' in place ? String(place.name) : '';
    return { place, topology, prefix, keys, servers, sentinels, primaryName, client, close };
  } catch (error) {
    close();
    throw error;
  }
}

type Opened = Pick<Target, 'topology' | 'client' | 'servers' | 'sentinels'>;
type Keep = <Client extends RedisClient>(client: Client) => Client;

async function open(place: Place, keep: Keep): Promise<Opened> {
  if (typeof place === 'string') return openServers([place], 'one server', keep);
  if (Array.isArray(place)) return openServers(place as readonly string[], 'quorum', keep);
  const other = place as Exclude<Place, string | readonly string[]>;
  if ('cluster' in other) {
    const { cluster, options } = other;
    const client = keep(
      new Cluster([...cluster], {
        redisOptions: { ...options?.redisOptions, ...LIMITS },
        clusterRetryStrategy: () => null,
        enableReadyCheck: false,
        lazyConnect: true,
      }),
    );
    await reached(cluster.map(addressOfNode).join(', '), client);
    const servers = client.nodes('master').map((node) => ({ address: addressOfClient(node), client: node }));
    return { topology: 'Cluster', client, servers, sentinels: [] };
  }
  return openSentinel(other, keep);
}

async function openServers(urls: readonly string[], topology: Topology, keep: Keep): Promise<Opened> {
  const servers = await Promise.all(
    urls.map(async (url) => {
      const client = keep(new Redis(url, ONE_TRY));
      const address = addressOfClient(client);
      await reached(address, client);
      return { address, client };
    }),
  );
  return { topology, client: servers[0].client, servers, sentinels: [] };
}

async function openSentinel(options: RedisOptions, keep: Keep): Promise<Opened> {
  const { sentinels = [], name, tls, enableTLSForSentinelMode } = options;
  const client = keep(new Redis({ ...options, ...ONE_TRY, sentinelRetryStrategy: () => null }));
  await reached(`${sentinels.map(addressOfNode).join(', ')}, which watch "${name}"`, client);
  const { remoteAddress, remotePort } = client.stream as { remoteAddress?: string; remotePort?: number };
  const watching = sentinels.map((sentinel) => ({
    address: addressOfNode(sentinel),
    client: keep(new Redis({ ...ONE_TRY, ...sentinel, ...(enableTLSForSentinelMode === true && tls ? { tls } : {}) })),
  }));
  const servers = [{ address: `${remoteAddress}:${remotePort}`, client }];
  return { topology: 'Sentinel', client, servers, sentinels: watching };
}

/** Without a listener the client prints its errors. */
function quiet<Client extends RedisClient>(client: Client): Client {
  client.on('error', () => undefined);
  return client;
}

/** A PING shows that the server accepts the user, which ioredis does not report by itself. */
async function reached(what: string, client: RedisClient): Promise<void> {
  let last: unknown;
  client.on('error', (error) => (last ??= error));
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    const reason = isReply(error) ? error : (nodeErrorOf(error) ?? last ?? error);
    if (isReply(reason) && !isAuthentication(reason)) return;
    throw new UnreachableError(`Redis ${what} cannot be used: ${redacted(messageOf(reason))}.`);
  }
}

/** An error that the server sent. */
export const isReply = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';

const isAuthentication = ({ message }: Error): boolean =>
  /^(NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH)/.test(message);

function nodeErrorOf(error: unknown): Error | undefined {
  return (error as { lastNodeError?: Error } | undefined)?.lastNodeError;
}

/** The library does the same: the client would add its prefix to some names only. */
function takeKeyPrefix(servers: readonly Server[]): string {
  const { keyPrefix = '' } = servers[0].client.options;
  for (const { client } of servers) client.options.keyPrefix = '';
  return keyPrefix;
}

const addressOfNode = (node: unknown): string => {
  const { host = 'localhost', port = 6_379 } = node as { host?: string; port?: number };
  return `${host}:${port}`;
};

const addressOfClient = ({ options: { host, port, path } }: Redis): string => path ?? `${host}:${port}`;

/** A key of a lock that the server stores. Any server except a master of a Cluster stores each key. */
export async function keyOn({ topology, client, keys }: Target, server: Server, key: string): Promise<string> {
  if (topology !== 'Cluster') return key;
  const ranges = (await client.cluster('SLOTS')) as unknown as [number, number, [string, number]][];
  const { host, port } = server.client.options;
  const own = ranges.filter(([, , [ip, at]]) => `${ip}:${at}` === `${host}:${port}`);
  for (let i = 0; i < 100_000; i += 1) {
    const name = `${key}:${i}`;
    const slot = slotOf(keys.lock(name));
    if (own.some(([from, to]) => from <= slot && slot <= to)) return name;
  }
  throw new Error(`${server.address} has no slots.`);
}
