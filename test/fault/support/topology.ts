import type { RedisOptions } from 'ioredis';

import { eventually } from '../../support/eventually.js';
import { startRedisCluster } from '../../support/redis-cluster.js';
import { startPrimaries } from '../../support/redis-primaries.js';
import { startSentinelTopology } from '../../support/redis-sentinels.js';
import { startRedisServer, type RedisServer } from '../../support/redis-server.js';
import type { Connection } from './lock-core.js';

const HOST = '127.0.0.1';

/** Where a server is reached: at its own port, or at that of something that stands before it. */
export interface Way {
  readonly port: number;
}

/** What a client says of itself. */
export type Identity = Pick<RedisOptions, 'username' | 'password' | 'tls'>;

type Config = Readonly<Record<string, string>>;

/** Servers that keep locks together. A row of faults is described once, and runs on each kind. */
export interface Topology {
  /** Replicas among them. */
  readonly servers: readonly RedisServer[];
  /** Who serves the locks of this key now: one primary, or every node of a quorum. */
  homes(lockKey: string): Promise<readonly RedisServer[]>;
  /** What a client is given; `ways[i]` leads to `servers[i]`. */
  connection(ways?: readonly Way[], identity?: Identity): Connection;
  /** Kills the homes and starts them again, with their data or without. */
  restart(lockKey: string, data: { empty: boolean }): Promise<void>;
  /** The homes take no writes any more: for good, because others take their place, or until the answer is called. */
  demote(lockKey: string): Promise<() => Promise<unknown>>;
}

export type StartTopology = (config?: Config) => Promise<Topology>;

/** One primary, or several that know nothing of each other. */
function independent(servers: readonly RedisServer[], connection: Topology['connection']): Topology {
  return {
    servers,
    homes: async () => servers,
    connection,
    restart: async (_, { empty }) => void (await Promise.all(servers.map((server) => server.restart({ empty })))),
    async demote() {
      const all = (...words: [string, string]) =>
        Promise.all(servers.map((server) => server.run((redis) => redis.call('REPLICAOF', ...words))));
      await all(HOST, '1');
      return () => all('NO', 'ONE');
    },
  };
}

export const onePrimary: StartTopology = async (config = {}) => {
  const server = await startRedisServer({ config });
  return independent([server], ([way] = [server], identity = {}) => ({ host: HOST, port: way.port, ...identity }));
};

export const quorum: StartTopology = async (config = {}) => {
  const servers = await startPrimaries(5, { config });
  return independent(servers, (ways = servers, identity = {}) =>
    ways.map(({ port }) => ({ host: HOST, port, ...identity })),
  );
};

/** How the address that a topology tells its clients is replaced by that of a way. */
function natMap(servers: readonly RedisServer[], ways: readonly Way[]) {
  return Object.fromEntries(servers.map(({ port }, i) => [`${HOST}:${port}`, { host: HOST, port: ways[i].port }]));
}

export const sentinel: StartTopology = async (config = {}) => {
  const topology = await startSentinelTopology({ replicas: 1, config });
  const { servers } = topology;
  return {
    servers,
    homes: async () => [await topology.ask()],
    connection: (ways = servers, identity = {}) => ({
      ...topology.connection,
      natMap: natMap(servers, ways),
      enableTLSForSentinelMode: identity.tls !== undefined,
      ...identity,
    }),
    async restart(_, { empty }) {
      await (await topology.ask()).restart({ empty });
      await topology.settled();
    },
    async demote() {
      await topology.switchOver();
      return () => topology.inStep();
    },
  };
};

export const cluster: StartTopology = async (config = {}) => {
  const formed = await startRedisCluster(config);
  const servers = formed.nodes.map(({ server }) => server);
  const home = async (lockKey: string): Promise<RedisServer> => {
    const alive = servers.find((server) => server.alive)!;
    const slot = await alive.run((redis) => redis.cluster('KEYSLOT', lockKey));
    return (await formed.masterOf(slot)).server;
  };
  return {
    servers,
    homes: async (lockKey) => [await home(lockKey)],
    connection: (ways = servers, identity = {}) => ({
      cluster: ways.map(({ port }) => ({ host: HOST, port })),
      options: { natMap: natMap(servers, ways), redisOptions: identity },
    }),
    async restart(lockKey, { empty }) {
      const server = await home(lockKey);
      if (empty) await server.run((redis) => redis.flushall());
      await server.restart({ empty: false }); // in its folder is also what it knows of the others
      await formed.healthy();
    },
    async demote(lockKey) {
      // On a busy machine a replica may just have taken over.
      const heir = await eventually(async () => {
        const old = servers.indexOf(await home(lockKey));
        const replica = servers[(old + servers.length / 2) % servers.length];
        await replica.run((redis) => redis.call('CLUSTER', 'FAILOVER'));
        return replica;
      }, 10_000);
      await eventually(async () => expect((await heir.run((redis) => redis.role()))[0]).toBe('master'), 10_000);
      return () => formed.healthy();
    },
  };
};
