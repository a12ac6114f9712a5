import type { ClusterNode, ClusterOptions, RedisOptions } from 'ioredis';

import { processClock, type Clock } from '../../runtime/clock.js';
import { ClusterConnection } from './cluster-connection.js';
import type { CredentialsSource } from './credentials.js';
import type { Layout } from './layout.js';
import {
  another,
  isCluster,
  isRedisClient,
  keyPrefixOf,
  openCluster,
  openRedis,
  type RedisClient,
} from './redis-client.js';
import { RedisConnection } from './redis-connection.js';

/** Some nodes of a Redis Cluster, with options for its client. */
export interface ClusterSource {
  readonly cluster: readonly ClusterNode[];
  readonly options?: ClusterOptions;
}

/** Where a connection leads: a Redis URL, options of ioredis, a Cluster, or a client of the application. */
export type RedisSource = string | RedisOptions | ClusterSource | RedisClient;

/** A connection, and the key prefix of its source, which the library adds to its own. */
export interface SourceConnection {
  readonly connection: RedisConnection;
  readonly keyPrefix: string;
}

interface SourceClient {
  readonly client: RedisClient;
  readonly keyPrefix: string;
  /** The client of the application, which is copied and not used itself. */
  readonly template?: RedisClient;
}

/**
 * Creates a dedicated connection, which opens with the first command.
 * @param credentials - called before each connection; by default the credentials in the source at that time
 * @param layoutOf - the layout of locks on the server of the client
 */
export function connectionTo(
  source: RedisSource,
  credentials?: CredentialsSource,
  clock: Clock = processClock,
  layoutOf?: (client: RedisClient, keyPrefix: string) => Layout,
): SourceConnection {
  const { client, keyPrefix, template } = clientTo(source, credentials);
  const layout = layoutOf?.(client, keyPrefix);
  const connection = isCluster(client)
    ? new ClusterConnection(client, clock, template, layout)
    : new RedisConnection(client, clock, template, layout);
  return { connection, keyPrefix };
}

function clientTo(source: RedisSource, credentials: CredentialsSource | undefined): SourceClient {
  if (typeof source === 'string') return openRedis(source, credentials);
  if (isRedisClient(source))
    return { client: another(source, credentials), keyPrefix: keyPrefixOf(source.options), template: source };
  if (!('cluster' in source)) return openRedis(source, credentials);
  const { cluster, options = {} } = source;
  return { client: openCluster(cluster, options, credentials), keyPrefix: keyPrefixOf(options) };
}
