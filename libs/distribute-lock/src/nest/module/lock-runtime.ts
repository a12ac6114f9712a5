import { LockConfigurationError } from '../../errors.js';
import { LockEngine, type LockEngineSettings } from '../../engine/lock-engine.js';
import type { LockStore } from '../../store/lock-store.js';
import type { AckSettings } from '../../store/redis/acknowledged.js';
import { RedisLockStore } from '../../store/redis/redis-lock-store.js';
import type { RedisLockStoreSettings } from '../../store/redis/redis-lock-store.js';
import { DEFAULT_CONNECTION } from '../aspect/lock-connections.js';
import { connectStore } from './connect-store.js';
import type { LockCredentialsProvider } from './lock-module-options.js';

/** Settings of a lock engine besides its connection. */
export interface RuntimeSettings
  extends LockEngineSettings, Pick<RedisLockStoreSettings, 'prefix' | 'layout' | 'serverMayChange'> {
  readonly durability?: AckSettings | undefined;
  readonly credentials?: LockCredentialsProvider | undefined;
}

/** Creates the lock engine of each connection; the testing kit replaces it. */
export interface LockRuntime {
  newEngine(name: string, connection: unknown, settings: RuntimeSettings): LockEngine;
}

/** The runtime outside of tests. */
export const processRuntime: LockRuntime = {
  newEngine(name, connection, { prefix, layout, serverMayChange, durability, credentials, ...settings }) {
    const option = connectionOption(name);
    const store = connectStore(option, connection, {
      prefix,
      layout,
      serverMayChange,
      credentials: credentials && (() => credentials(name)),
    });
    return new LockEngine(withDurability(option, store, durability), settings);
  },
};

/** The name of the module option that configures the connection. */
export function connectionOption(name: string): string {
  return name === DEFAULT_CONNECTION ? 'connection' : `connections.${name}`;
}

/** @throws LockConfigurationError when the store has no replicas; the option is never ignored */
export function withDurability(option: string, store: LockStore, durability: AckSettings | undefined): LockStore {
  if (durability === undefined) return store;
  if (store instanceof RedisLockStore) return store.acknowledgedBy(durability);
  throw new LockConfigurationError(
    `Option "durability" is not supported by "${option}": only a Redis primary, with Sentinel or without, and a Redis Cluster have replicas.`,
  );
}
