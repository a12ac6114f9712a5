import type { ClusterOptions, RedisOptions } from 'ioredis';

/** A failed command is told at once; asking again is ours. */
const MAX_RETRIES = 1;
const LONGEST_PAUSE_MS = 1_000;

const CONNECT_TIMEOUT_MS = 2_000;
// A connection that is being closed while it is being opened would keep the process alive for longer.
const DISCONNECT_TIMEOUT_MS = 500;
/** A Sentinel that is mute must not keep us from asking another one. */
const SENTINEL_TIMEOUT_MS = 1_000;

/** How long before a connection is tried again. */
export const pauseMs = (times: number): number =>
  Math.min(25 * 2 ** times, LONGEST_PAUSE_MS) * (0.8 + 0.4 * Math.random());

/** The options of a connection of our own: what the user gave, over what a lock needs. */
export function ownOptions(options: RedisOptions): RedisOptions {
  return {
    maxRetriesPerRequest: MAX_RETRIES,
    retryStrategy: pauseMs,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    ...(options.sentinels && { sentinelRetryStrategy: pauseMs, sentinelCommandTimeout: SENTINEL_TIMEOUT_MS }),
    ...options,
    // Ours does the same, and does not end the client when the news comes while it reconnects.
    failoverDetector: false,
    // We subscribe again by ourselves: nobody would catch it if that of the client fails.
    autoResubscribe: false,
    lazyConnect: true,
  };
}

/** ... and of a client of a Cluster, which opens connections to its nodes. */
export function ownClusterOptions(options: ClusterOptions): ClusterOptions {
  return {
    clusterRetryStrategy: pauseMs,
    ...options,
    redisOptions: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      disconnectTimeout: DISCONNECT_TIMEOUT_MS,
      ...options.redisOptions,
    },
    // What leaves in one tick is gathered by us; some versions of the client refuse keys of several slots then.
    enableAutoPipelining: false,
    lazyConnect: true,
  };
}
