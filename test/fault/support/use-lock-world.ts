import { Redis, type RedisOptions } from 'ioredis';

import { onCleanup } from '../../support/cleanup.js';
import { startFaultProxy, type FaultProxy } from '../../support/proxy/fault-proxy.js';
import { startRedisServer, type RedisServer, type RedisServerOptions } from '../../support/redis-server.js';
import { type Connection, openLocks, PREFIX, type Locks } from './lock-engine.js';
import { LockProcess } from './lock-process.js';

/** A private Redis, and the clients of a spec. */
export interface LockWorld {
  readonly server: RedisServer;
  /** For direct access to the data. */
  readonly client: Redis;
  /** A proxy to the server with faults that a test switches. */
  proxy(): Promise<FaultProxy>;
  /**
   * A lock engine in this process with its own connection and owner tokens. To other engines it is like another process.
   */
  locks(connection?: string | RedisOptions): Locks;
  /** Starts a lock process. */
  process(connection?: Connection, env?: NodeJS.ProcessEnv): Promise<LockProcess>;
  /** A key that no other test uses. */
  newKey(): string;
  /** The owner token in Redis. */
  owner(key: string): Promise<string | null>;
  queueOf(key: string): string;
  /** Number of processes in the queue of the key. */
  waiting(key: string): Promise<number>;
  /** All keys of a lock in Redis, helper keys included. Empty when the lock has no holder and no waiter. */
  keysOf(key: string): Promise<string[]>;
}

/**
 * Starts a private Redis before the specs of the file, and closes all resources after them. Asserts that no process
 * reported trouble.
 */
export function useLockWorld(options: RedisServerOptions = {}): LockWorld {
  const processes: LockProcess[] = [];
  let server: RedisServer;
  let client: Redis;
  let keys = 0;
  beforeAll(async () => {
    server = await startRedisServer(options);
    client = new Redis(server.url, { maxRetriesPerRequest: 5 });
    client.on('error', () => {}); // some specs kill the server
    onCleanup(() => client.disconnect());
  });
  // P14 applies to every spec
  afterEach(() => expect(processes.flatMap(({ trouble }) => trouble.splice(0))).toEqual([]));
  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
    proxy: () => startFaultProxy(server.port),
    locks(connection = server.url) {
      const locks = openLocks(connection);
      onCleanup(() => locks.engine.close());
      return locks;
    },
    async process(connection = server.url, env = {}) {
      const started = await LockProcess.start(connection, env);
      processes.push(started);
      return started;
    },
    newKey: () => `key-${(keys += 1)}`,
    owner: (key) => client.get(PREFIX + key),
    queueOf,
    waiting: (key) => client.zcard(queueOf(key)),
    keysOf: async (key) => {
      const names = await client.keys(`*${PREFIX}${key}*`);
      return names.filter((name) => name === PREFIX + key || name.endsWith(`:{${PREFIX}${key}}`)).sort();
    },
  };
}

const queueOf = (key: string): string => `q1:{${PREFIX}${key}}`;
