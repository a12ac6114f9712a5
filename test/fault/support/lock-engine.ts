import { Cluster, Redis, type ClusterNode, type ClusterOptions, type RedisOptions } from 'ioredis';

import { type LockEvent, LockEvents } from '../../../libs/distribute-lock/src/events.js';
import { orderedKeys } from '../../../libs/distribute-lock/src/keys/check-key.js';
import type { LeaseHandle } from '../../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import {
  type AcquireOptions,
  LOCK_DEFAULTS,
  resolveLockOptions,
} from '../../../libs/distribute-lock/src/options/lock-options.js';
import { LockEngine, type LockEngineSettings } from '../../../libs/distribute-lock/src/engine/lock-engine.js';
import type { LockStore } from '../../../libs/distribute-lock/src/store/lock-store.js';
import { QuorumLockStore } from '../../../libs/distribute-lock/src/store/quorum/quorum-lock-store.js';
import { openMember } from '../../../libs/distribute-lock/src/store/quorum/node-connection.js';
import { RedisLockStore } from '../../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import type { RedisLockStoreSettings } from '../../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../../support/cleanup.js';

/** Prefix of the locks in these specs; each spec has a separate Redis. */
export const PREFIX = 'lock:';

/** A lock engine like that of an application, with its own connection and process id. */
export interface Locks {
  readonly engine: LockEngine;
  readonly store: LockStore;
  readonly events: LockEvent[];
  acquire(key: string, options?: AcquireOptions): Promise<LeaseHandle>;
  acquireMultiKey(keys: readonly string[], options?: AcquireOptions): Promise<Lease>;
}

/** One primary (also behind Sentinel), a Cluster, the nodes of a quorum, or the client of the application. */
export type Connection = OwnConnection | Nodes | { readonly application: OwnConnection };

type OwnConnection = string | RedisOptions | ClusterConnection;

type Nodes = readonly (string | RedisOptions)[];

interface ClusterConnection {
  readonly cluster: readonly ClusterNode[];
  readonly options: ClusterOptions;
}

/** Settings of the store on one primary besides its prefix. */
export type StoreSettings = Pick<RedisLockStoreSettings, 'layout' | 'serverMayChange'>;

export function openLocks(
  connection: Connection,
  settings: Partial<LockEngineSettings> = {},
  store: StoreSettings = {},
): Locks {
  return locksOn(storeOf(connection, store), settings);
}

const isQuorum = (connection: Connection): connection is Nodes => Array.isArray(connection);

/** The client of an application, which handles its errors and closes it. */
function clientOf(connection: OwnConnection): Redis | Cluster {
  const client =
    typeof connection !== 'string' && 'cluster' in connection
      ? new Cluster([...connection.cluster], connection.options)
      : typeof connection === 'string'
        ? new Redis(connection)
        : new Redis(connection);
  client.on('error', () => {});
  onCleanup(() => client.disconnect());
  return client;
}

function storeOf(connection: Connection, store: StoreSettings): LockStore {
  const ofStore = { prefix: PREFIX, ...store };
  if (typeof connection !== 'string' && 'application' in connection)
    return RedisLockStore.open(clientOf(connection.application), ofStore);
  if (typeof connection !== 'string' && 'cluster' in connection)
    return RedisLockStore.open({ cluster: connection.cluster, options: connection.options }, ofStore);
  if (isQuorum(connection)) return new QuorumLockStore(connection.map((node) => openMember(node, PREFIX)));
  return RedisLockStore.open(connection, ofStore);
}

/** A lock engine on the given store. */
export function locksOn(store: LockStore, settings: Partial<LockEngineSettings> = {}): Locks {
  const observer = new LockEvents();
  const events: LockEvent[] = [];
  observer.listen((event) => events.push(event));
  const engine = new LockEngine(store, {
    defaults: LOCK_DEFAULTS,
    maxWaitersPerKey: 10_000,
    maxWaiters: 100_000,
    events: observer,
    ...settings,
  });
  return {
    engine,
    store,
    events,
    async acquire(key, { signal, ...options } = {}) {
      const call = { key, name: 'fault', options: resolveLockOptions(options), scoped: false, signal };
      const lease: Lease = await engine.acquire(call);
      return lease as LeaseHandle;
    },
    async acquireMultiKey(keys, { signal, ...options } = {}) {
      const resolved = resolveLockOptions(options);
      return engine.acquire({
        key: orderedKeys(keys, 'fault'),
        name: 'fault',
        options: resolved,
        scoped: false,
        signal,
      });
    },
  };
}
