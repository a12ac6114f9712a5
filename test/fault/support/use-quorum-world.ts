import { Redis } from 'ioredis';

import { onCleanup } from '../../support/cleanup.js';
import { eventually } from '../../support/eventually.js';
import { startFaultProxy, type FaultProxy } from '../../support/proxy/fault-proxy.js';
import { startPrimaries } from '../../support/redis-primaries.js';
import type { RedisServer, RedisServerOptions } from '../../support/redis-server.js';
import { openLocks, PREFIX, type Locks } from './lock-engine.js';
import { LockProcess } from './lock-process.js';

/** Independent primaries, and the clients of a spec that use a majority of them. */
export interface QuorumWorld {
  readonly servers: readonly RedisServer[];
  /** For direct access to the data, one client per node. */
  readonly clients: readonly Redis[];
  readonly urls: readonly string[];
  /** A proxy to each node with faults that a test switches. */
  proxies(): Promise<readonly FaultProxy[]>;
  /** A lock engine in this process. To other engines it is like another process. */
  locks(urls?: readonly string[]): Locks;
  /** Starts a lock process. */
  process(urls?: readonly string[]): Promise<LockProcess>;
  newKey(): string;
  /** Number of these nodes (default: all) that have a vote or a queue for the key. */
  taken(key: string, nodes?: readonly number[]): Promise<number>;
}

/**
 * Starts the nodes before the specs of the file, and closes all resources after them. Asserts that no process reported
 * trouble.
 */
export function useQuorumWorld(count = 5, options: RedisServerOptions = {}): QuorumWorld {
  const processes: LockProcess[] = [];
  let servers: readonly RedisServer[] = [];
  let clients: readonly Redis[] = [];
  let keys = 0;
  beforeAll(async () => {
    servers = await startPrimaries(count, options);
    clients = servers.map(({ url }) => openClient(url));
  });
  afterEach(() => expect(processes.flatMap(({ trouble }) => trouble.splice(0))).toEqual([]));
  const urls = (): readonly string[] => servers.map(({ url }) => url);
  return {
    get servers() {
      return servers;
    },
    get clients() {
      return clients;
    },
    get urls() {
      return urls();
    },
    proxies: () => Promise.all(servers.map(({ port }) => startFaultProxy(port))),
    locks(nodes = urls()) {
      const locks = openLocks(nodes);
      onCleanup(() => locks.engine.close());
      return locks;
    },
    async process(nodes = urls()) {
      const started = await LockProcess.start(nodes);
      processes.push(started);
      return started;
    },
    newKey: () => `key-${(keys += 1)}`,
    taken: (key, nodes = clients.map((_, i) => i)) =>
      countTaken(
        key,
        nodes.map((node) => clients[node]),
      ),
  };
}

/** A lock engine that is connected to every node. A majority is enough for `connect()` and for a grant. */
export async function connectedToAll(world: QuorumWorld, ways?: readonly FaultProxy[]): Promise<Locks> {
  const locks = world.locks(ways?.map(({ url }) => url));
  const lease = await locks.acquire(world.newKey(), { wait: '5s' });
  await eventually(async () => expect(await world.taken(lease.key)).toBe(world.servers.length));
  await lease.release();
  return locks;
}

function openClient(url: string): Redis {
  const client = new Redis(url, { maxRetriesPerRequest: 5, disconnectTimeout: 100 });
  client.on('error', () => {}); // some specs kill servers
  onCleanup(() => client.disconnect());
  return client;
}

async function countTaken(key: string, clients: readonly Redis[]): Promise<number> {
  const names = [PREFIX + key, `q1:{${PREFIX}${key}}`];
  const found = await Promise.all(clients.map((client) => client.exists(...names)));
  return found.filter((each) => each > 0).length;
}
