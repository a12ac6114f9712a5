import type { Socket } from 'node:net';

import type { Cluster, Redis, RedisOptions } from 'ioredis';

import { optionsInstead, pauseMs } from './own-options.js';

/** A client of ioredis, of whichever copy and major version; recognised by its methods. @public */
export type RedisClient = Redis | Cluster;

/** Whether the client can take a command now, without keeping it for later. */
export const isReady = (client: RedisClient): boolean => client.status === 'ready';

/** Whether the client will never take a command again. */
export const isEnded = (client: RedisClient): boolean => client.status === 'end';

/** How far the client has come, in words: a server that does not speak TLS leaves a handshake unanswered. */
export function stateOf(client: RedisClient): string {
  const { tls }: RedisOptions = isCluster(client) ? (client.options.redisOptions ?? {}) : client.options;
  return client.status === 'connecting' && tls !== undefined ? 'connecting with TLS' : client.status;
}

/** Whether the connection speaks RESP3, where commands are allowed on a connection that is subscribed. */
export function speaksResp3(client: RedisClient): boolean {
  const { condition } = client as { condition?: { protocol?: unknown } | null };
  return condition?.protocol === 3;
}

/** What a prefixing client puts before every key. */
export function keyPrefixOf(client: RedisClient): string {
  return client.options.keyPrefix ?? '';
}

/**
 * A client of our own for the same data, as the given one is configured now: a client of the application is a template and
 * never written to, so a transaction or a blocking command on it cannot affect locks. It is of the database that was selected
 * last, and reconnects with the credentials that the given client has then.
 */
export function another(given: RedisClient): RedisClient {
  const own = isCluster(given) ? anotherCluster(given) : anotherRedis(given);
  if (isEnded(given)) own.disconnect();
  return own;
}

function anotherRedis(given: Redis): Redis {
  const { condition } = given as { condition?: { readonly select?: number } | null };
  const options: RedisOptions = {
    ...optionsInstead(given.options),
    db: condition?.select ?? given.options.db ?? 0,
    retryStrategy: (times) => {
      const { username, password, sentinelUsername, sentinelPassword } = given.options;
      Object.assign(own.options, { username, password, sentinelUsername, sentinelPassword });
      return pauseMs(times);
    },
  };
  const own: Redis = given.duplicate(options);
  return own;
}

function anotherCluster(given: Cluster): Cluster {
  const redisOptions = given.options.redisOptions ?? {};
  const { retryStrategy: _, ...instead } = optionsInstead(redisOptions);
  return given.duplicate([], {
    clusterRetryStrategy: pauseMs,
    enableAutoPipelining: false,
    enableOfflineQueue: true,
    lazyConnect: true,
    redisOptions: { ...redisOptions, ...instead },
  });
}

/** Whether it is a client of a whole Redis Cluster. */
export const isCluster = (client: RedisClient): client is Cluster => 'isCluster' in client && client.isCluster;

/** Where the connection leads to, as `host port`. */
export function placeOf(client: RedisClient): string {
  if (isCluster(client)) return '';
  const { remoteAddress, remotePort } = client.stream as Partial<Socket>;
  return `${remoteAddress} ${remotePort}`;
}
