import type { Socket } from 'node:net';

import type { Cluster, Redis, RedisOptions } from 'ioredis';

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

/** Another client for the same data: of the database, too, that was selected since this one was made. */
export function another(client: RedisClient): RedisClient {
  if (isCluster(client)) return client.duplicate();
  const { condition } = client as { condition?: { readonly select?: number } | null };
  return client.duplicate({ db: condition?.select ?? client.options.db ?? 0 });
}

/** Whether it is a client of a whole Redis Cluster. */
export const isCluster = (client: RedisClient): client is Cluster => 'isCluster' in client && client.isCluster;

/**
 * A socket that speaks TLS may report a second error while the first one closes it. The client listens for one only, so the second would
 * be thrown where nobody can catch it.
 */
export function expectMoreErrors(client: Redis): void {
  client.stream?.on('error', () => undefined);
}

/** Where the connection leads to, as `host port`. */
export function placeOf(client: RedisClient): string {
  if (isCluster(client)) return '';
  const { remoteAddress, remotePort } = client.stream as Partial<Socket>;
  return `${remoteAddress} ${remotePort}`;
}
