import type { InjectionToken, ModuleMetadata, OptionalFactoryDependency, Type } from '@nestjs/common';
import type { ClusterNode, ClusterOptions, RedisOptions } from 'ioredis';

import type { LockOptions } from '../../options/lock-options.js';
import type { RetryAfter } from '../../options/retry-after.js';
import type { Duration } from '../../options/values.js';
import type { LockStore } from '../../store/lock-store.js';
import type { RedisClient } from '../../store/redis/redis-client.js';
import type { LockErrorMappers } from '../aspect/error-mapping.js';

/** One of the independent primaries of a quorum: a Redis URL, options of ioredis, or a client of ioredis. @public */
export type LockQuorumNode = string | RedisOptions | RedisClient;

/**
 * A Redis Cluster: some of its nodes, of which the others are learnt, and options for the `Cluster` client of ioredis.
 *
 * A lock and its queue stand in one slot. A key with a `}` but no `{tag}` before it cannot be kept there, and is refused.
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
   * Handed to ioredis.
   * @defaultValue those of ioredis
   */
  readonly options?: ClusterOptions;
}

/**
 * Where locks live: a Redis URL, options of ioredis (with `sentinels` too), a Redis Cluster, a client of ioredis (`Redis` or
 * `Cluster`) that the application opened and closes itself, a list of at least three independent primaries (always a quorum),
 * any {@link LockStore}, or `'memory'` (one process only).
 * @public
 */
export type LockConnection =
  string | RedisOptions | ClusterConnectionOptions | RedisClient | readonly LockQuorumNode[] | LockStore;

/** What must have a lock before it counts as taken. @public */
export interface Durability {
  /** How many replicas must have acknowledged it. */
  readonly replicas: number;
  /**
   * How long they may take, at most 500 ms.
   * @defaultValue `'100ms'`
   */
  readonly timeout?: Duration;
}

/** How many callers may wait in this process. @public */
export interface MaxWaiters {
  /**
   * For one key; fewer than `total`, so that one key cannot keep the callers of all others out.
   * @defaultValue `10000`, or half of `total` if that is less
   */
  readonly perKey?: number;
  /**
   * For all keys.
   * @defaultValue `100000`, or twice `perKey` if that is more
   */
  readonly total?: number;
}

/** Options of `LockModule`. @public */
export interface LockModuleOptions {
  /** Where locks live. There is no default: an application that forgot it must not run unlocked. */
  readonly connection: LockConnection | undefined;
  /**
   * More connections by name, chosen by `connectionName` in `@DistributeLock` and by `@InjectLockService(name)`.
   * @defaultValue none
   */
  readonly connections?: Readonly<Record<string, LockConnection | undefined>>;
  /**
   * Stands before every key in Redis.
   * @defaultValue `'lock:'`
   */
  readonly prefix?: string;
  /**
   * Replicas that must have a lock before anybody is told that it was taken, so that it survives a failover to one of
   * them. Too few: `LockUnavailableError` with the number that had it in `replicas`, and the lock is given back. It costs
   * the time of one or two round trips to a replica for each acquire, and one connection more; in a Cluster a process gets one
   * lock of each node in such a time. It makes the loss of a lock in a failover much less likely, but is no proof: what is
   * protected still has to check the fencing token.
   * @defaultValue none: the primary's word is enough
   */
  readonly durability?: Durability;
  /**
   * Whether the application refuses to start when a connection cannot be had.
   * @defaultValue `true`
   */
  readonly connectOnBoot?: boolean;
  /**
   * Whether the store must confirm what a message says before a holder starts or a lease ends. It costs a waiting caller one round trip
   * more. Use it where a client that is not trusted may publish to the channels and read the keys of the locks.
   * @defaultValue `false`
   */
  readonly confirmOffers?: boolean;
  /**
   * How long shutdown waits for locks that are held.
   * @defaultValue `'2s'`
   */
  readonly drainTimeout?: Duration;
  /**
   * How many callers may wait in this process; further ones get a `LockUnavailableError`. A number counts for each key.
   * @defaultValue `{ perKey: 10000, total: 100000 }`
   */
  readonly maxWaiters?: number | MaxWaiters;
  /**
   * How many locks may keep their key after their work (`minHold`, `release: 'expire'`). A call counts from its beginning. Further
   * ones get a `LockUnavailableError` before their work runs.
   * @defaultValue `10000`
   */
  readonly maxKept?: number;
  /**
   * HTTP status of the answer when somebody else holds the lock, 400 to 499.
   * @defaultValue `409`
   */
  readonly contendedStatus?: number;
  /**
   * Replaces the estimate in `retryAfterMs` and `Retry-After` when another caller holds the lock: a duration, or a function that
   * returns one. The estimate stands where the function throws or returns no duration.
   * @defaultValue how much longer holds of that `name` lasted lately (median); 1 s without observations; never above the rest of the lease
   * @example
   * ```ts
   * retryAfter: ({ name, estimateMs }) => (name === 'nightly' ? '10m' : estimateMs)
   * ```
   */
  readonly retryAfter?: RetryAfter;
  /**
   * Whether a client that closes its connection ends the waits of its request. A lock that is free is taken all the same, so later
   * steps of the request go on.
   * @defaultValue `true`
   */
  readonly abortOnDisconnect?: boolean;
  /**
   * A lease that is held for longer is reported once, by a warning in the log and the event `held-long`. 0 reports none.
   * @defaultValue `'1m'`
   */
  readonly warnAfter?: Duration;
  /**
   * Exceptions of your own for lock errors that leave a handler, by code, on every transport. What the function returns,
   * promises or throws is thrown as it is; `undefined` leaves the answer to the module; `Retry-After` is set all the same. Plain
   * providers, cron jobs and listeners reject with the `LockError` itself.
   * @defaultValue none: the exception of each transport, with `code`, `message` and `retryAfterMs`
   * @example
   * ```ts
   * errors: { LOCK_CONTENDED: (error) => new OrderIsBusyException(error.retryAfterMs) }
   * ```
   */
  readonly errors?: LockErrorMappers;
  /**
   * Options of every lock that says nothing else.
   * @defaultValue those of {@link LockOptions}
   */
  readonly defaults?: LockOptions;
}

/** A provider that makes the options, for `useClass` and `useExisting`. @public */
export interface LockModuleOptionsFactory {
  createLockModuleOptions(): LockModuleOptions | Promise<LockModuleOptions>;
}

/** Options of `LockModule.forRootAsync`: one of `useFactory`, `useClass` and `useExisting`. @public */
export interface LockModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Makes the options from what `inject` names. */
  // A narrower parameter list must be accepted here.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly useFactory?: (...args: any[]) => LockModuleOptions | Promise<LockModuleOptions>;
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[];
  /** A class that makes the options; the module makes its instance. */
  readonly useClass?: Type<LockModuleOptionsFactory>;
  /** A provider that exists already and makes the options. */
  readonly useExisting?: InjectionToken<LockModuleOptionsFactory>;
}
