import type { ClusterOptions, RedisOptions } from 'ioredis';

/** A failed command is reported at once; the lock engine tries again. */
const MAX_RETRIES = 1;
const LONGEST_PAUSE_MS = 1_000;

const CONNECT_TIMEOUT_MS = 2_000;
// A connection that is being closed while it is being opened would keep the process alive for longer.
const DISCONNECT_TIMEOUT_MS = 500;
/** A Sentinel that does not respond must not delay the question to the next one. */
const SENTINEL_TIMEOUT_MS = 1_000;
/** The system's default of two hours finds no dead connection in time, and lets firewalls forget idle ones. */
const KEEP_ALIVE_MS = 10_000;
/** A server that loads its data is asked so often; a longer pause would look like a connection that does not respond. */
const LOADING_RETRY_MS = 1_000;

/** Timeouts that the client has where the application sets none, so that ours may take their place. */
const CLIENT_DEFAULTS: RedisOptions = { connectTimeout: 10_000, keepAlive: 0 };

/** How long before a connection is tried again. */
export const pauseMs = (times: number): number =>
  Math.min(25 * 2 ** times, LONGEST_PAUSE_MS) * (0.8 + 0.4 * Math.random());

/** What every connection has unless the user sets it. */
const DEFAULTS: RedisOptions = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  keepAlive: KEEP_ALIVE_MS,
};

/** What no connection of ours may have otherwise: replies have one shape, and health and retries are ours. */
const REQUIRED: RedisOptions = {
  maxLoadingRetryTime: LOADING_RETRY_MS,
  // Otherwise the client never settles what was under way when a connection was lost.
  autoResendUnfulfilledCommands: true,
  // A command of ours is timed out by us, without a timer for each.
  commandTimeout: undefined,
  stringNumbers: false,
  // What leaves in one tick is gathered by us; some versions of the client refuse keys of several slots then.
  enableAutoPipelining: false,
  showFriendlyErrorStack: false,
  // We subscribe again by ourselves: a failure of the client's own attempt would be an unhandled rejection.
  autoResubscribe: false,
};

/** The options of a connection of our own: what a lock needs, where the user gave nothing else. */
export function ownOptions(options: RedisOptions): RedisOptions {
  return {
    maxRetriesPerRequest: MAX_RETRIES,
    retryStrategy: pauseMs,
    ...DEFAULTS,
    ...(options.sentinels && { sentinelRetryStrategy: pauseMs, sentinelCommandTimeout: SENTINEL_TIMEOUT_MS }),
    ...options,
    ...REQUIRED,
    // Ours does the same, and does not end the client when the news comes while it reconnects.
    failoverDetector: false,
    lazyConnect: true,
  };
}

/** ... and of a client of a Cluster, which opens connections to its nodes. */
export function ownClusterOptions(options: ClusterOptions): ClusterOptions {
  return {
    clusterRetryStrategy: pauseMs,
    ...options,
    redisOptions: { ...DEFAULTS, ...options.redisOptions, ...REQUIRED },
    enableAutoPipelining: false,
    lazyConnect: true,
  };
}

/** The options that a connection made from a client of the application has instead of those of that client. */
export function optionsInstead(given: RedisOptions): RedisOptions {
  return {
    ...REQUIRED,
    maxRetriesPerRequest: MAX_RETRIES,
    retryStrategy: pauseMs,
    reconnectOnError: null,
    enableOfflineQueue: true,
    failoverDetector: false,
    lazyConnect: true,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    ...(given.sentinels && { sentinelRetryStrategy: pauseMs, sentinelCommandTimeout: SENTINEL_TIMEOUT_MS }),
    ...(isDefault(given, 'connectTimeout') && { connectTimeout: CONNECT_TIMEOUT_MS }),
    ...(isDefault(given, 'keepAlive') && { keepAlive: KEEP_ALIVE_MS }),
  };
}

function isDefault(given: RedisOptions, name: keyof RedisOptions): boolean {
  return given[name] === undefined || given[name] === CLIENT_DEFAULTS[name];
}
