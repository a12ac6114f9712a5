import { LockConfigurationError } from '../../errors.js';
import { LockCore, type LockCoreSettings } from '../../queue/lock-core.js';
import type { LockStore } from '../../store/lock-store.js';
import type { AckSettings } from '../../store/redis/acknowledged.js';
import { RedisLockStore } from '../../store/redis/redis-lock-store.js';
import { DEFAULT_CONNECTION } from '../aspect/lock-connections.js';
import { connectStore } from './connect-store.js';

/** What a lock core is made from, besides its connection. */
export interface RuntimeSettings extends LockCoreSettings {
  readonly prefix: string;
  readonly durability?: AckSettings | undefined;
}

/** Makes the lock core of each connection; the testing kit puts its own in its place. */
export interface LockRuntime {
  newCore(name: string, connection: unknown, settings: RuntimeSettings): LockCore;
}

/** Connections as they are given, and the clock of the process. */
export const processRuntime: LockRuntime = {
  newCore(name, connection, { prefix, durability, ...settings }) {
    const option = connectionOption(name);
    return new LockCore(withDurability(option, connectStore(option, connection, prefix), durability), settings);
  },
};

/** Where the connection stands in the options of the module. */
export function connectionOption(name: string): string {
  return name === DEFAULT_CONNECTION ? 'connection' : `connections.${name}`;
}

/** @throws LockConfigurationError where no replicas can be asked: the option is never ignored */
export function withDurability(option: string, store: LockStore, durability: AckSettings | undefined): LockStore {
  if (durability === undefined) return store;
  if (store instanceof RedisLockStore) return store.acknowledgedBy(durability);
  throw new LockConfigurationError(
    `Option "durability" cannot be kept by "${option}": only a Redis primary, with Sentinel or without, and a Redis Cluster have replicas.`,
  );
}
