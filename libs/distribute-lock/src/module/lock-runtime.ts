import { DEFAULT_CONNECTION } from '../interception/lock-connections.js';
import { LockCore, type LockCoreSettings } from '../queue/lock-core.js';
import { connectStore } from './connect-store.js';

/** What a lock core is made from, besides its connection. */
export interface RuntimeSettings extends LockCoreSettings {
  readonly prefix: string;
}

/** Makes the lock core of each connection; the testing kit puts its own in its place. */
export interface LockRuntime {
  newCore(name: string, connection: unknown, settings: RuntimeSettings): LockCore;
}

/** Connections as they are given, and the clock of the process. */
export const processRuntime: LockRuntime = {
  newCore(name, connection, { prefix, ...settings }) {
    return new LockCore(connectStore(connectionOption(name), connection, prefix), settings);
  },
};

/** Where the connection stands in the options of the module. */
export function connectionOption(name: string): string {
  return name === DEFAULT_CONNECTION ? 'connection' : `connections.${name}`;
}
