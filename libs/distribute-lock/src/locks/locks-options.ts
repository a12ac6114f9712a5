import type { ClusterNode, ClusterOptions, RedisOptions } from 'ioredis';

import type { LockOptions } from '../options/lock-options.js';
import type { LockPresetName } from '../options/presets.js';
import type { RetryAfter } from '../options/retry-after.js';
import type { Duration } from '../options/values.js';
import type { LockStore } from '../store/lock-store.js';
import type { LockCredentials } from '../store/redis/credentials.js';
import type { LockLayout } from '../store/redis/layout.js';
import type { RedisClient } from '../store/redis/redis-client.js';
import type { NodeRedisClient, NodeRedisClusterOptions, NodeRedisOptions } from './node-redis.js';

/** One of the independent primaries of a quorum: a Redis URL, or options or a client of ioredis or node-redis. @public */
export type LockQuorumNode = string | RedisOptions | RedisClient | NodeRedisClient | NodeRedisOptions;

/**
 * A Redis Cluster: some of its nodes, from which ioredis discovers the others, and options for the `Cluster` client of ioredis.
 *
 * A lock and its queue share one slot. A key with a `}` but without a `{tag}` before it is rejected, because it cannot share a slot.
 * @example
 * ```ts
 * connection: {
 *   cluster: [{ host: 'redis-1', port: 6379 }, { host: 'redis-2', port: 6379 }],
 *   options: { redisOptions: { username: 'locks', password, tls: {} } },
 * }
 * ```
 * @public
 */
export interface ClusterConnectionOptions {
  readonly cluster: readonly ClusterNode[];
  /**
   * Passed to ioredis.
   * @defaultValue those of ioredis
   */
  readonly options?: ClusterOptions;
}

/**
 * The location of the locks.
 *
 * - a Redis URL, or options of ioredis (also with `sentinels`)
 * - a Redis Cluster
 * - a client of ioredis (`Redis` or `Cluster`) that the application opens and closes
 * - a client of node-redis, or its options, for their settings: host, port, TLS, user, password, database, or root nodes
 * - a list of at least three independent primaries (always a quorum)
 * - any {@link LockStore}
 * - `'memory'` (one process only)
 * @public
 */
export type LockConnection =
  | string
  | RedisOptions
  | ClusterConnectionOptions
  | RedisClient
  | NodeRedisClient
  | NodeRedisOptions
  | NodeRedisClusterOptions
  | readonly LockQuorumNode[]
  | LockStore;

/** Returns the credentials of a connection. @public */
export type LockCredentialsProvider = (connectionName: string) => LockCredentials | Promise<LockCredentials>;

/** Replicas that must acknowledge a lock before it is granted. @public */
export interface Durability {
  /** Number of replicas that must acknowledge the lock. */
  readonly replicas: number;
  /**
   * Time limit for the acknowledgements, at most 500 ms.
   * @defaultValue `'100ms'`
   */
  readonly timeout?: Duration<'or duration(text)'>;
}

/** Limits of waiting callers in this process. @public */
export interface MaxWaiters {
  /**
   * Limit for one key; less than `total`, so that the callers of one key cannot block all other keys.
   * @defaultValue `10000`, or half of `total` if that is less
   */
  readonly perKey?: number;
  /**
   * Limit for all keys.
   * @defaultValue `100000`, or twice `perKey` if that is more
   */
  readonly total?: number;
}

/** The options that do not depend on Nest. @public */
export interface LocksOptions {
  /** The location of the locks. Required, because an application without it must not run unlocked. */
  readonly connection: LockConnection | undefined;
  /**
   * Returns the present user and password, for example from a service that issues tokens. Called before each connection that the
   * module opens, with the name of the connection (`'default'` for `connection`), on every topology. If it fails, it is called again.
   * It has no effect on `'memory'`, a {@link LockStore} and the Sentinels.
   * @defaultValue the credentials that the options or the client of the connection have at that time
   * @example
   * ```ts
   * credentials: async () => ({ username: 'locks', password: await tokens.current() })
   * ```
   */
  readonly credentials?: LockCredentialsProvider;
  /**
   * Prefix of every lock's key in Redis. Names of helper keys contain it behind a short type, such as `f1:lock:`.
   * A `keyPrefix` of the connection precedes it, as if it were the beginning of this option.
   * @defaultValue `'lock:'`
   */
  readonly prefix?: string;
  /**
   * Replicas that must acknowledge a lock before it is granted, so that it survives a failover to one of them. If too few
   * acknowledge it, the call rejects with `LockUnavailableError`, whose `replicas` is their number, and the lock is released.
   *
   * Each acquire takes one or two round trips to a replica longer, and the module opens one more connection. In a Cluster a process
   * acquires one lock per node in that time. The option makes the loss of a lock in a failover much less likely but does not exclude
   * it: the protected resource must still check the fencing token.
   * @defaultValue none; the primary decides alone
   */
  readonly durability?: Durability;
  /**
   * How the locks of the prefix share script calls and counters of fencing tokens on one Redis server.
   *
   * - `'single'`: one call has many locks, and one counter serves all of them. It is faster, but some clustered servers behind one
   *   address reject it.
   * - `'slot'`: one call has one lock, and each lock has a counter with a TTL of ten minutes, as in a Redis Cluster. Many new keys
   *   per second then need memory for ten minutes of counters.
   * - `'auto'`: asks the server on each new connection. A `prefix` with a `{tag}` always has the layout `'slot'`.
   *
   * Instances with different layouts exclude each other, and their fencing tokens rise.
   * @defaultValue `'auto'`
   */
  readonly layout?: LockLayout;
  /**
   * Whether another server may answer on an open connection, for example behind a proxy that terminates the Redis protocol. Every
   * fencing token is then taken from the server's clock. A free lock costs the server 7 % more.
   * @defaultValue `false`; the layout `'slot'` always takes fencing tokens from the clock
   */
  readonly serverMayChange?: boolean;
  /**
   * How long shutdown waits for held leases.
   * @defaultValue `'2s'`
   */
  readonly drainTimeout?: Duration<'or duration(text)'>;
  /**
   * How many callers may wait in this process; further callers get a `LockUnavailableError`. A number is the limit for each key.
   * @defaultValue `{ perKey: 10000, total: 100000 }`
   */
  readonly maxWaiters?: number | MaxWaiters;
  /**
   * How many locks may outlast their work (`minHold`, `release: 'expire'`, `detach()`). A call counts from its start until
   * its key is free; with `release: 'expire'` until ten seconds after its `ttl`. Further calls get a `LockUnavailableError` before
   * their work runs.
   * @defaultValue `10000`
   */
  readonly maxKept?: number;
  /**
   * Replaces the estimate in `retryAfterMs` and `Retry-After` when another caller holds the lock: a duration, or a function that
   * returns one. The estimate is used if the function throws or returns no duration.
   * @defaultValue the median of recent holds of that `name` in this process, less the age of a hold of this process; 1 s without observations; never above the rest of the lease
   * @example
   * ```ts
   * retryAfter: ({ name, estimateMs }) => (name === 'nightly' ? '10m' : estimateMs)
   * ```
   */
  readonly retryAfter?: RetryAfter;
  /**
   * A lease that is held for longer is reported once, as a warning in the log and as the event `held-long`; not the lease of a
   * leader. 0 disables the report.
   * @defaultValue `'1m'`
   */
  readonly warnAfter?: Duration<'or duration(text)'>;
  /**
   * Default options of all locks.
   * @defaultValue those of {@link LockOptions}
   */
  readonly defaults?: LockOptions;
  /**
   * Sets of lock options by name, selected by option `preset` of a decorator or call. They override `defaults`. {@link LockPresets} makes
   * the names known to the compiler.
   * @defaultValue none
   * @example
   * ```ts
   * presets: { checkout: { ttl: '10s', wait: '2s' } }
   * ```
   */
  readonly presets?: Readonly<Record<LockPresetName, LockOptions>>;
}
