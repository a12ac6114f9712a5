import { Cluster, Redis, type RedisOptions } from 'ioredis';

import type { LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';
import { openMember } from '../../libs/distribute-lock/src/store/quorum/node-connection.js';
import { QuorumLockStore } from '../../libs/distribute-lock/src/store/quorum/quorum-lock-store.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { locksOn } from '../fault/support/lock-engine.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startOneNodeCluster } from '../support/redis-cluster.js';
import { startPrimaries } from '../support/redis-primaries.js';
import { startSentinelTopology } from '../support/redis-sentinels.js';
import type { RedisServer } from '../support/redis-server.js';

const prefix = 'lock:';
const settings = { prefix };
const WITHIN_MS = 15_000;
const giveUp = (): null => null;

/** A deployment whose clients give up. */
interface Deployment {
  readonly servers: readonly RedisServer[];
  /** Number of connections whose outage is reported. */
  readonly parts: number;
  /** A store with options that give up. */
  readonly open: () => LockStore;
  /** A store on clients of the application that give up. */
  readonly over: () => LockStore;
}

function closing<T extends Redis | Cluster>(client: T): T {
  // A client that has ended would set a timer.
  onCleanup(() => client.status !== 'end' && client.disconnect());
  return client.on('error', () => undefined) as T;
}

const redis = (options: RedisOptions): Redis => closing(new Redis(options));

async function behindSentinel(strategies: RedisOptions): Promise<Deployment> {
  const { connection, servers, sentinels } = await startSentinelTopology({ replicas: 1 });
  const options = { ...connection, ...strategies };
  return {
    servers: [...servers, ...sentinels],
    parts: 1,
    open: () => RedisLockStore.open(options, settings),
    over: () => RedisLockStore.open(redis(options), settings),
  };
}

const DEPLOYMENTS: Readonly<Record<string, () => Promise<Deployment>>> = {
  'one primary': async () => {
    const servers = await startPrimaries(1);
    const options = { port: servers[0].port, retryStrategy: giveUp };
    return {
      servers,
      parts: 1,
      open: () => RedisLockStore.open(options, settings),
      over: () => RedisLockStore.open(redis(options), settings),
    };
  },
  'one primary, RESP2': async () => {
    const servers = await startPrimaries(1);
    const options = { port: servers[0].port, retryStrategy: giveUp, protocol: 2 } as const;
    return {
      servers,
      parts: 1,
      open: () => RedisLockStore.open(options, settings),
      over: () => RedisLockStore.open(redis(options), settings),
    };
  },
  Sentinel: () => behindSentinel({ retryStrategy: giveUp, sentinelRetryStrategy: giveUp }),
  'Sentinels that cannot be reached': () => behindSentinel({ sentinelRetryStrategy: giveUp }),
  Cluster: async () => {
    const server = await startOneNodeCluster();
    const nodes = [{ host: '127.0.0.1', port: server.port }];
    const options = { clusterRetryStrategy: giveUp };
    return {
      servers: [server],
      parts: 1,
      open: () => RedisLockStore.open({ cluster: nodes, options }, settings),
      over: () => RedisLockStore.open(closing(new Cluster(nodes, options)), settings),
    };
  },
  quorum: async () => {
    const servers = await startPrimaries(3);
    const options = servers.map(({ port }) => ({ port, retryStrategy: giveUp }));
    return {
      servers,
      parts: 3,
      open: () => new QuorumLockStore(options.map((node) => openMember(node, prefix))),
      over: () => new QuorumLockStore(options.map((node) => openMember(redis(node), prefix))),
    };
  },
};

describe.each(Object.entries(DEPLOYMENTS))('Clients that give up do not end locks, on %s:', (_, start) => {
  it.each([
    ['the options of a connection', 'open'],
    ["an application's client", 'over'],
  ] as const)(
    'the connection of %s is lost, reported, and opened again, for commands and messages',
    async (__, how) => {
      const deployment = await start();
      const reports = { lost: 0, back: 0 };
      const store = deployment[how]();
      const locks = locksOn(store);
      onCleanup(() => locks.engine.close());
      store.observeConnections!({
        disconnected: () => (reports.lost += 1),
        reconnected: () => (reports.back += 1),
      });
      await locks.engine.connect();
      await (await locks.acquire('a', { wait: '5s' })).release();

      await Promise.all(deployment.servers.map((server) => server.kill()));
      await eventually(() => expect(reports).toEqual({ lost: deployment.parts, back: 0 }), WITHIN_MS);
      await new Promise((resolve) => setTimeout(resolve, 500));
      await Promise.all(deployment.servers.map((server) => server.restart({ empty: false })));

      await eventually(() => expect(reports).toEqual({ lost: deployment.parts, back: deployment.parts }), WITHIN_MS);
      const lease = await locks.acquire('a', { wait: '10s' });
      await eventually(async () => expect(await store.subscribe('x'.repeat(22), ignoring)).toBe(true), 10_000);
      await lease.release();
    },
    90_000,
  );
});

const ignoring = { message: () => undefined, resubscribed: () => undefined };
