import { LockUnavailableError } from '../errors.js';
import { LockEngine, type LockEngineSettings } from '../engine/lock-engine.js';
import type { RedisLockStoreSettings } from '../store/redis/redis-lock-store.js';
import { DEFAULT_CONNECTION } from './default-connection.js';
import { connectStore } from './connect-store.js';
import type { Door } from './door.js';
import type { LockCredentialsProvider } from './locks-options.js';

/** Settings of a lock engine besides its connection. */
export interface RuntimeSettings
  extends LockEngineSettings, Pick<RedisLockStoreSettings, 'prefix' | 'layout' | 'serverMayChange' | 'durability'> {
  readonly credentials?: LockCredentialsProvider | undefined;
  readonly door: Door;
}

/** Creates the lock engine of each connection; the testing kit replaces it. */
export interface LockRuntime {
  newEngine(name: string, connection: unknown, settings: RuntimeSettings): LockEngine;
}

/** The runtime outside of tests. */
export const processRuntime: LockRuntime = {
  newEngine(name, connection, { prefix, layout, serverMayChange, durability, credentials, door, ...settings }) {
    const option = connectionOption(name);
    const ofStore = { prefix, layout, serverMayChange, durability };
    const source = credentials && (() => credentials(name));
    const store = connectStore(option, connection, { ...ofStore, credentials: source }, door);
    return new LockEngine(store, settings);
  },
};

/** The name of the option that configures the connection. */
export function connectionOption(name: string): string {
  return name === DEFAULT_CONNECTION ? 'connection' : `connections.${name}`;
}

/**
 * Connects, and logs warnings about the server in the background, so that they neither delay nor prevent the start.
 * @param remedy - the end of the message
 * @throws LockUnavailableError when the connection fails
 */
export async function connectEngine(name: string, engine: LockEngine, door: Door, remedy = ''): Promise<void> {
  const what = `The "${connectionOption(name)}" of ${door.name}`;
  try {
    await engine.connect();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LockUnavailableError(`${what} cannot be used: ${reason}${remedy}`, { cause });
  }
  void engine.advice().then(
    (advice) => advice.forEach((sentence) => door.log.warn(`${what}: ${sentence}`)),
    () => undefined,
  );
}
