import { connectStore } from '../locks/connect-store.js';
import { DEFAULT_PREFIX } from '../locks/resolve-locks-options.js';
import type { LockConnection } from '../locks/locks-options.js';
import type { LockStore } from '../store/lock-store.js';

/** Options of {@link openStore}. @public */
export interface OpenStoreOptions {
  /**
   * Prefix of every key in Redis.
   * @defaultValue `'lock:'`
   */
  readonly prefix?: string;
}

const ignore = (): void => undefined;

/**
 * Opens the store of this package for a connection, to compare another store with it.
 * @throws {@link LockConfigurationError} when the value does not describe a connection
 * @public
 */
export function openStore(connection: LockConnection, { prefix = DEFAULT_PREFIX }: OpenStoreOptions = {}): LockStore {
  const log = { debug: ignore, log: ignore, warn: ignore };
  return connectStore('connection', connection, { prefix }, { name: 'openStore', log });
}
