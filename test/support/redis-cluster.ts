import type { ClusterNode, Redis } from 'ioredis';
import { eventually } from './eventually.js';
import { startRedisServer, type RedisServer, type RedisServerOptions } from './redis-server.js';

const SLOTS = 16_384;
const FORMS_WITHIN_MS = 20_000;
const MIGRATES_WITHIN_MS = 30_000;
const SETTINGS = {
  'cluster-node-timeout': '1500',
  'cluster-replica-validity-factor': '0',
  'repl-diskless-sync-delay': '0',
};

/** How many servers a Cluster has. */
export interface RedisClusterSize {
  readonly masters: number;
  readonly replicasEach: number;
}

const SIX: RedisClusterSize = { masters: 3, replicasEach: 1 };

/** Starts a Cluster, by default of three masters with one replica each; all end with the spec file. */
export async function startRedisCluster(
  config: Readonly<Record<string, string>> = {},
  { masters, replicasEach }: RedisClusterSize = SIX,
): Promise<RedisCluster> {
  const nodes = await Promise.all(Array.from({ length: masters * (1 + replicasEach) }, () => startNode(config)));
  const cluster = new RedisCluster(nodes, masters);
  await cluster.form();
  return cluster;
}

/** Starts a Cluster of one server, which runs only scripts whose keys are in one slot; it ends with the spec file. */
export async function startOneNodeCluster({ port }: Pick<RedisServerOptions, 'port'> = {}): Promise<RedisServer> {
  // A server that has not met another one does not know its address.
  const options = { clusterNode: true, config: { ...SETTINGS, 'cluster-announce-ip': '127.0.0.1' } };
  const server = await startRedisServer(port === undefined ? options : { ...options, port });
  await server.run((redis) => redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', String(SLOTS - 1)));
  await eventually(async () => {
    const info = await server.run((redis) => redis.cluster('INFO'));
    if (!info.includes('cluster_state:ok')) throw new Error(info);
  }, FORMS_WITHIN_MS);
  return server;
}

/** A server of a Cluster, and its id in the Cluster. */
export interface RedisClusterNode {
  readonly server: RedisServer;
  readonly id: string;
}

async function startNode(config: Readonly<Record<string, string>>): Promise<RedisClusterNode> {
  const server = await startRedisServer({ clusterNode: true, config: { ...SETTINGS, ...config } });
  return { server, id: await server.run((redis) => redis.cluster('MYID')) };
}

/** Masters that share all slots, and the same number of replicas of each. */
export class RedisCluster {
  constructor(
    readonly nodes: readonly RedisClusterNode[],
    private readonly size: number,
  ) {}

  /** The initial masters; of three, node `i + 3` starts as the replica of master `i`. */
  get masters(): readonly RedisClusterNode[] {
    return this.nodes.slice(0, this.size);
  }

  get replicas(): readonly RedisClusterNode[] {
    return this.nodes.slice(this.size);
  }

  /** Seed nodes for a client. */
  get startNodes(): ClusterNode[] {
    return this.nodes.map(({ server }) => ({ host: '127.0.0.1', port: server.port }));
  }

  /** @internal */
  async form(): Promise<void> {
    // Epochs first: a node that has met others accepts no epoch.
    for (const [i, { server }] of this.masters.entries()) {
      await server.run((redis) => redis.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1)));
    }
    await Promise.all(
      this.masters.map(({ server }, i) => {
        const [from, to] = [i, i + 1].map((at) => Math.floor((at * SLOTS) / this.size));
        return server.run(async (redis) => {
          await redis.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to - 1));
          for (const { server: other } of this.nodes) {
            await redis.call('CLUSTER', 'MEET', '127.0.0.1', String(other.port), String(other.busPort));
          }
        });
      }),
    );
    await this.everybodyKnows(`cluster_known_nodes:${this.nodes.length}`);
    await Promise.all(
      this.replicas.map(({ server }, i) =>
        server.run((redis) => redis.cluster('REPLICATE', this.masters[i % this.size].id)),
      ),
    );
    await this.healthy();
  }

  /** Resolves when every node serves, and knows all slots and all replicas. */
  async healthy(): Promise<void> {
    await this.everybodyKnows('cluster_state:ok', 'cluster_slots_ok:16384');
    await eventually(async () => {
      for (const { server } of this.nodes) {
        const nodes = (await server.run((redis) => redis.cluster('NODES'))) as string;
        const connected = nodes.split('\n').filter((line) => /(master|slave) .* connected/.test(line));
        const replicas = connected.filter((line) => line.includes('slave'));
        if (connected.length < this.nodes.length || replicas.length < this.replicas.length) throw new Error(nodes);
        const role = await server.run((redis) => redis.role());
        if (role[0] !== 'master' && role[3] !== 'connected') throw new Error('A replica is not in sync');
      }
    }, FORMS_WITHIN_MS);
  }

  /** The current master of the slot, according to the first live node. */
  async masterOf(slot: number): Promise<RedisClusterNode> {
    const ranges = await this.anyNode((redis) => redis.cluster('SLOTS'));
    const range = ranges.find(([first, last]) => first <= slot && slot <= last);
    const node = this.nodes.find(({ server }) => server.port === Number(range?.[2]?.[1]));
    if (node === undefined) throw new Error(`No master serves slot ${slot}`);
    return node;
  }

  /** Moves one slot with its keys to another master, as `redis-cli --cluster reshard` does. */
  async migrateSlot(slot: number, to: RedisClusterNode): Promise<void> {
    const from = await this.masterOf(slot);
    if (from === to) return;
    const setSlot = (node: RedisClusterNode, ...words: string[]) =>
      node.server.run((redis) => redis.call('CLUSTER', 'SETSLOT', String(slot), ...words));
    await setSlot(to, 'IMPORTING', from.id);
    await setSlot(from, 'MIGRATING', to.id);
    await from.server.run((redis) => moveKeys(redis, slot, to.server.port));
    // The source and the target first; otherwise redirections would form a circle.
    for (const node of [to, from, ...this.nodes.filter((other) => other !== to && other !== from)]) {
      const [role] = await node.server.run((redis) => redis.role());
      if (role === 'master') await setSlot(node, 'NODE', to.id);
    }
  }

  /** Moves one slot with its keys in one step, on Redis 8.4 and Valkey 9.0 or newer. */
  async migrateSlotAtomically(slot: number, to: RedisClusterNode): Promise<void> {
    const from = await this.masterOf(slot);
    if (from === to) return;
    const range = [String(slot), String(slot)];
    const info = await to.server.run((redis) => redis.info('server'));
    if (info.includes('valkey_version')) {
      const words = ['SLOTSRANGE', ...range, 'NODE', to.id];
      await from.server.run((redis) => redis.call('CLUSTER', 'MIGRATESLOTS', ...words));
    } else {
      await to.server.run((redis) => redis.call('CLUSTER', 'MIGRATION', 'IMPORT', ...range));
    }
    await eventually(async () => {
      for (const { server } of this.masters) {
        const slots = await server.run((redis) => redis.cluster('SLOTS'));
        const owner = slots.find(([first, last]) => first <= slot && slot <= last)?.[2]?.[2];
        if (owner !== to.id) throw new Error(`Slot ${slot} is at ${String(owner)}, not yet at ${to.id}`);
      }
    }, MIGRATES_WITHIN_MS);
  }

  private async everybodyKnows(...facts: string[]): Promise<void> {
    await Promise.all(
      this.nodes.map(({ server }) =>
        eventually(async () => {
          const info = await server.run((redis) => redis.cluster('INFO'));
          for (const fact of facts) if (!info.includes(fact)) throw new Error(`Not yet ${fact}`);
        }, FORMS_WITHIN_MS),
      ),
    );
  }

  private async anyNode<T>(ask: (redis: Redis) => Promise<T>): Promise<T> {
    let last: unknown;
    for (const { server } of this.nodes) {
      try {
        return await server.run(ask);
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }
}

async function moveKeys(redis: Redis, slot: number, port: number): Promise<void> {
  for (;;) {
    const keys = await redis.cluster('GETKEYSINSLOT', slot, 100);
    if (keys.length === 0) return;
    await redis.call('MIGRATE', '127.0.0.1', String(port), '', '0', '5000', 'REPLACE', 'KEYS', ...keys);
  }
}
