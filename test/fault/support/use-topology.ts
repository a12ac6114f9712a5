import { mkdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

import type { Redis } from 'ioredis';

import { RedisKeys } from '../../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { onCleanup } from '../../support/cleanup.js';
import { eventually } from '../../support/eventually.js';
import { LockProcess } from './lock-process.js';
import { type Connection, openLocks, PREFIX, type Locks } from './lock-engine.js';
import { monotonicMs } from '../../support/monotonic.js';
import { Network } from './network.js';
import type { Identity, StartTopology, Topology, Way } from './topology.js';

/** A topology, and the clients of a spec. Keys have no prefix. */
export interface TopologyWorld extends Pick<Topology, 'servers' | 'restart' | 'demote'> {
  network(): Promise<Network>;
  /** A lock engine in this process. To other engines it is like another process. */
  locks(ways?: readonly Way[], identity?: Identity): Locks;
  /** The connection options of a client. */
  connectionWith(identity: Identity): Connection;
  /** Starts a lock process. */
  process(ways?: readonly Way[], env?: NodeJS.ProcessEnv): Promise<LockProcess>;
  /** A key that no other test uses. */
  newKey(): string;
  /** Runs on every server that stores the key. */
  onHomes<T>(key: string, run: (redis: Redis) => Promise<T>): Promise<T[]>;
  onAll(run: (redis: Redis) => Promise<unknown>): Promise<void>;
  /** Makes writes fail because snapshots fail, until the returned function is called. */
  failSnapshots(key: string): Promise<() => Promise<unknown>>;
  /** When the first server that granted the key forgets its holder, on the monotonic clock. */
  endsAt(key: string): Promise<number>;
  /** Number of keys in Redis for the lock and its queues. */
  left(key: string): Promise<number>;
  waiting(key: string): Promise<number>;
  /** Names of keys without a TTL. */
  endless(): Promise<string[]>;
}

const queueOf = (key: string): string => `q1:{${PREFIX}${key}}`;

/**
 * Starts the topology before the specs, and closes all resources after them. Asserts that no process reported trouble.
 */
export function useTopology(start: StartTopology, config: Readonly<Record<string, string>> = {}): TopologyWorld {
  const processes: LockProcess[] = [];
  let topology: Topology;
  let keys = 0;
  beforeAll(async () => (topology = await start(config)), 60_000);
  afterEach(() => expect(processes.flatMap(({ trouble }) => trouble.splice(0))).toEqual([]));
  return {
    get servers() {
      return topology.servers;
    },
    restart: (key, data) => topology.restart(PREFIX + key, data),
    demote: (key) => topology.demote(PREFIX + key),
    network: () => Network.before(topology.servers),
    locks(ways, identity) {
      const locks = openLocks(topology.connection(ways, identity));
      onCleanup(() => locks.engine.close());
      return locks;
    },
    connectionWith: (identity) => topology.connection(undefined, identity),
    async process(ways, env) {
      const started = await LockProcess.start(topology.connection(ways), env);
      processes.push(started);
      return started;
    },
    newKey: () => `key-${(keys += 1)}`,
    ...behindTheScenes(() => topology),
  };
}

type Scenes = 'onHomes' | 'onAll' | 'failSnapshots' | 'endsAt' | 'left' | 'waiting' | 'endless';

function behindTheScenes(topology: () => Topology): Pick<TopologyWorld, Scenes> {
  const onHomes: TopologyWorld['onHomes'] = async (key, run) =>
    Promise.all((await topology().homes(PREFIX + key)).map((server) => server.run(run)));
  const onAll = <T>(run: (redis: Redis) => Promise<T>): Promise<T[]> =>
    Promise.all(topology().servers.map((server) => server.run(run)));
  return {
    onHomes,
    onAll: async (run) => void (await onAll(run)),
    failSnapshots: async (key) => {
      await onHomes(key, failSnapshots);
      return () => onHomes(key, mendSnapshots);
    },
    async endsAt(key) {
      const left = await onHomes(key, (redis) => redis.pttl(PREFIX + key));
      return monotonicMs() + Math.min(...left);
    },
    left: async (key) => sum(await onHomes(key, (redis) => redis.exists(PREFIX + key, queueOf(key)))),
    waiting: async (key) => Math.max(...(await onHomes(key, (redis) => redis.zcard(queueOf(key))))),
    endless: async () => (await onAll(endlessOf)).flat(),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

async function endlessOf(redis: Redis): Promise<string[]> {
  if ((await redis.role())[0] !== 'master') return [];
  const names = await redis.keys('*');
  const left = await Promise.all(names.map((name) => redis.pttl(name)));
  // A primary has one counter for all its locks, which has no TTL.
  return names.filter((name, i) => left[i] === -1 && name !== new RedisKeys(PREFIX).fence);
}

/** The path of the snapshot. A folder at this path makes snapshots fail. */
const snapshotOf = async (redis: Redis): Promise<string> => join((await redis.config('GET', 'dir'))[1], 'dump.rdb');

async function failSnapshots(redis: Redis): Promise<void> {
  await rm(await snapshotOf(redis), { force: true });
  await mkdir(await snapshotOf(redis));
  await redis.config('SET', 'save', '3600 100000');
  await redis.bgsave();
  await eventually(async () => expect(await redis.info('persistence')).toContain('rdb_last_bgsave_status:err'));
}

async function mendSnapshots(redis: Redis): Promise<void> {
  await rmdir(await snapshotOf(redis));
  await redis.config('SET', 'save', '');
  await redis.bgsave();
  await eventually(async () => expect(await redis.info('persistence')).toContain('rdb_last_bgsave_status:ok'));
}
