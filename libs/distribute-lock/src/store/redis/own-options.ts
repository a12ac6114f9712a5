import type { ClusterOptions, RedisOptions } from 'ioredis';

/** The client reports a failed command after one retry; the lock engine repeats it. */
const MAX_RETRIES = 1;
const LONGEST_PAUSE_MS = 1_000;

export const CONNECT_TIMEOUT_MS = 2_000;
// A connection that closes while it opens would otherwise keep the process alive for longer.
const DISCONNECT_TIMEOUT_MS = 500;
/** A Sentinel that does not respond must not delay the request to the next one. */
const SENTINEL_TIMEOUT_MS = 1_000;
/** The system default of two hours detects no dead connection in time, and firewalls drop idle connections earlier. */
const KEEP_ALIVE_MS = 10_000;
/**
 * Interval of requests to a server that loads its data; a longer one would look like a connection that does not
 * respond.
 */
const LOADING_RETRY_MS = 1_000;

/** Client defaults for options that the application does not set. The library replaces them. */
const CLIENT_DEFAULTS: RedisOptions = { connectTimeout: 10_000, keepAlive: 0 };

/** Delay before the next connection attempt. */
export const pauseMs = (times: number): number =>
  Math.min(25 * 2 ** times, LONGEST_PAUSE_MS) * (0.8 + 0.4 * Math.random());

/** Defaults of every connection; the user may override them. */
const DEFAULTS: RedisOptions = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  keepAlive: KEEP_ALIVE_MS,
};

/** Options that the user cannot override: replies have one shape, and the library handles health and retries. */
const REQUIRED: RedisOptions = {
  maxLoadingRetryTime: LOADING_RETRY_MS,
  // Without this option the client never settles commands in flight on a lost connection.
  autoResendUnfulfilledCommands: true,
  // The library limits its commands without a timer for each.
  commandTimeout: undefined,
  stringNumbers: false,
  // The library batches the commands of a tick. Some versions of the client reject batches with keys of several slots.
  enableAutoPipelining: false,
  showFriendlyErrorStack: false,
  // The library subscribes again itself: a failed attempt of the client would be an unhandled rejection.
  autoResubscribe: false,
};

/** Options of a connection that the library opens: the options of the user, completed with the needs of locks. */
export function ownOptions(options: RedisOptions): RedisOptions {
  return {
    maxRetriesPerRequest: MAX_RETRIES,
    ...DEFAULTS,
    ...(options.sentinels && { sentinelCommandTimeout: SENTINEL_TIMEOUT_MS }),
    ...options,
    ...REQUIRED,
    // A client that gives up would end all locks of the process without a report.
    retryStrategy: pauseMs,
    ...(options.sentinels && { sentinelRetryStrategy: pauseMs }),
    reconnectOnError: null,
    // `SentinelWatch` replaces it. It does not end the client when a failover happens during a reconnect.
    failoverDetector: false,
    lazyConnect: true,
  };
}

/** Options of a Cluster client, which opens connections to its nodes. */
export function ownClusterOptions(options: ClusterOptions): ClusterOptions {
  return {
    ...options,
    clusterRetryStrategy: pauseMs,
    redisOptions: { ...DEFAULTS, ...options.redisOptions, ...REQUIRED, keyPrefix: '' },
    enableAutoPipelining: false,
    keyPrefix: '',
    lazyConnect: true,
  };
}

/** Options in which a connection copied from an application client differs from that client. */
export function optionsInstead(given: RedisOptions): RedisOptions {
  return {
    ...REQUIRED,
    maxRetriesPerRequest: MAX_RETRIES,
    retryStrategy: pauseMs,
    reconnectOnError: null,
    enableOfflineQueue: true,
    failoverDetector: false,
    keyPrefix: '',
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
