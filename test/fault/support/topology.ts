import type { RedisOptions } from 'ioredis';

import { eventually } from '../../support/eventually.js';
import { startRedisCluster } from '../../support/redis-cluster.js';
import { startPrimaries } from '../../support/redis-primaries.js';
import { startSentinelTopology } from '../../support/redis-sentinels.js';
import { startRedisServer, type RedisServer } from '../../support/redis-server.js';
import type { Connection } from './lock-engine.js';

const HOST = '127.0.0.1';
/** A replica of a Cluster gives up a requested failover after 5 s. */
const GIVEN_UP_MS = 6_000;
const SWITCHES_WITHIN_MS = 20_000;
/**
 * Each failover of a row is a request. A primary of a busy machine that the Sentinels consider dead is replaced while it
 * still accepts writes, and these are lost.
 */
const DOWN_AFTER_MS = 60_000;

/** The port of a server, or of the proxy in front of it. */
export interface Way {
  readonly port: number;
}

/** The credentials of a client. */
export type Identity = Pick<RedisOptions, 'username' | 'password' | 'tls'>;

type Config = Readonly<Record<string, string>>;

/** The servers of one kind of deployment. Each row of the fault matrix runs on each kind. */
export interface Topology {
  /** Includes replicas. */
  readonly servers: readonly RedisServer[];
  /** The servers that store the locks of this key now: one primary, or every node of a quorum. */
  homes(lockKey: string): Promise<readonly RedisServer[]>;
  /** The connection options of a client; `ways[i]` leads to `servers[i]`. */
  connection(ways?: readonly Way[], identity?: Identity): Connection;
  /** Kills the homes and restarts them, with their data or without. */
  restart(lockKey: string, data: { empty: boolean }): Promise<void>;
  /**
   * Makes the homes refuse writes: permanently if others replace them, otherwise until the returned function is called.
   */
  demote(lockKey: string): Promise<() => Promise<unknown>>;
}

export type StartTopology = (config?: Config) => Promise<Topology>;

/** One primary, or several independent ones. */
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

/** Maps the addresses that the servers announce to those of the proxies. */
function natMap(servers: readonly RedisServer[], ways: readonly Way[]) {
  return Object.fromEntries(servers.map(({ port }, i) => [`${HOST}:${port}`, { host: HOST, port: ways[i].port }]));
}

export const sentinel: StartTopology = async (config = {}) => {
  const topology = await startSentinelTopology({ replicas: 1, config, downAfterMs: DOWN_AFTER_MS });
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
      await server.restart({ empty: false }); // its folder also contains the Cluster configuration
      await formed.healthy();
    },
    async demote(lockKey) {
      // On a busy machine a replica may have taken over just before, or may not get its votes in time.
      await eventually(async () => {
        const old = servers.indexOf(await home(lockKey));
        const replica = servers[(old + servers.length / 2) % servers.length];
        await replica.run((redis) => redis.call('CLUSTER', 'FAILOVER'));
        await eventually(
          async () => expect((await replica.run((redis) => redis.role()))[0]).toBe('master'),
          GIVEN_UP_MS,
        );
      }, SWITCHES_WITHIN_MS);
      return () => formed.healthy();
    },
  };
};
