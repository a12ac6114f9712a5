import type { RedisOptions } from 'ioredis';
import { eventually } from './eventually.js';
import { startPrimaries } from './redis-primaries.js';
import { startRedisServer, type RedisServer } from './redis-server.js';

const NAME = 'main';
const QUORUM = '2';
const SENTINELS = 3;
/**
 * What a Sentinel waits before it takes a mute primary for dead, and before a failover that failed is tried again. It asks once a second, also
 * a primary that it has just been told of: with no more than that second it would sometimes give up the new one at once.
 */
const SETTINGS = { 'down-after-milliseconds': '1500', 'failover-timeout': '1500', 'parallel-syncs': '5' };
const FORMS_WITHIN_MS = 15_000;
const HEALS_WITHIN_MS = 25_000;
/** A failover takes the time above, an election, and a replica that answers. */
const FAILS_OVER_WITHIN_MS = 20_000;
/** Replicas are to be in step at once, also after a restart. */
const REPLICA = { 'repl-diskless-sync-delay': '0', 'repl-ping-replica-period': '1' };

export interface SentinelTopologyOptions {
  readonly replicas?: number;
  /** Settings of the primary and its replicas, as in redis.conf. */
  readonly config?: Readonly<Record<string, string>>;
}

/** Starts a primary, replicas in step with it and three Sentinels that know each other; all end with the spec file. */
export async function startSentinelTopology(options: SentinelTopologyOptions = {}): Promise<SentinelTopology> {
  const { replicas = 2, config = {} } = options;
  const [servers, sentinels] = await Promise.all([
    startPrimaries(1 + replicas, { config: { ...REPLICA, ...config } }),
    Promise.all(Array.from({ length: SENTINELS }, () => startRedisServer({ sentinel: true }))),
  ]);
  const topology = new SentinelTopology(servers, sentinels);
  await topology.form();
  return topology;
}

/** A primary that is watched: killed or stopped, one of its replicas takes its place. */
export class SentinelTopology {
  private current: RedisServer;

  constructor(
    readonly servers: readonly RedisServer[],
    readonly sentinels: readonly RedisServer[],
  ) {
    this.current = servers[0];
  }

  /** Whom Sentinel called the primary when it was last asked. */
  get primary(): RedisServer {
    return this.current;
  }

  get replicas(): readonly RedisServer[] {
    return this.servers.filter((server) => server !== this.current);
  }

  /** Options of ioredis for a client that follows the primary. */
  get connection(): RedisOptions {
    return { sentinels: this.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })), name: NAME };
  }

  /** @internal */
  async form(): Promise<void> {
    const { primary } = this;
    for (const replica of this.replicas) {
      await replica.run((redis) => redis.replicaof('127.0.0.1', primary.port));
    }
    await this.inStep();
    for (const sentinel of this.sentinels) {
      await sentinel.run(async (redis) => {
        await redis.call('SENTINEL', 'MONITOR', NAME, '127.0.0.1', String(primary.port), QUORUM);
        await redis.call('SENTINEL', 'SET', NAME, ...Object.entries(SETTINGS).flat());
      });
    }
    await eventually(() => this.watched(), FORMS_WITHIN_MS);
  }

  /** Resolves when the replicas have all that the primary wrote. */
  async inStep(): Promise<void> {
    await eventually(() => this.replicasOnline(), FORMS_WITHIN_MS);
  }

  /** Resolves with the new primary once a failover is over; `begin` makes it necessary, by default SIGKILL of the old one. */
  async failover(begin: (old: RedisServer) => unknown = (old) => old.kill()): Promise<RedisServer> {
    const old = this.primary;
    await begin(old);
    this.current = await eventually(async () => {
      const server = await this.asked();
      if (server === old) throw new Error('Sentinel still calls the old one the primary');
      const role = await server.run((redis) => redis.role());
      if (role[0] !== 'master') throw new Error('The new primary is none yet');
      return server;
    }, FAILS_OVER_WITHIN_MS);
    return this.current;
  }

  /** The same, asked for and not enforced: the old one lives on, as a replica. */
  async switchOver(): Promise<RedisServer> {
    await this.settled();
    // On a busy machine a Sentinel may just now think that the replicas are too old to take over.
    return this.failover(() => eventually(() => this.askToSwitch(), HEALS_WITHIN_MS));
  }

  /** Brings a server that was killed back, empty, as a replica of the present primary, and waits until all is as it was. */
  async heal(server: RedisServer): Promise<void> {
    await server.restart();
    await server.run((redis) => redis.replicaof('127.0.0.1', this.primary.port));
    await this.settled();
  }

  /** Resolves when all is as it was, whoever is the primary now. */
  async settled(): Promise<void> {
    await eventually(async () => {
      // On a busy machine Sentinel may take a primary for dead that only had no turn, and fail over once more.
      await this.ask();
      await this.replicasOnline();
      await this.watched();
    }, HEALS_WITHIN_MS);
  }

  /** Whom Sentinel calls the primary now. */
  async ask(): Promise<RedisServer> {
    this.current = await this.asked();
    return this.current;
  }

  /** Asked over a connection of its own: Sentinel closes those of a server that it promotes. */
  private async replicasOnline(): Promise<void> {
    const facts = await this.primary.run((redis) => redis.info('replication'));
    const states = [...facts.matchAll(/state=online/g)];
    if (states.length !== this.replicas.length) throw new Error(`${states.length} replicas are in step`);
  }

  /** Every Sentinel must know of all servers, and see all of them alive: only then is a failover quick. */
  private async watched(): Promise<void> {
    const others = String(this.sentinels.length - 1);
    const replicas = String(this.replicas.length);
    for (const sentinel of this.sentinels) {
      const known = factsOf(await sentinel.run((redis) => redis.call('SENTINEL', 'MASTER', NAME)));
      if (known.get('num-other-sentinels') !== others) throw new Error('A Sentinel does not know the others yet');
      if (known.get('num-slaves') !== replicas) throw new Error('A Sentinel does not know the replicas yet');
      if (known.get('flags') !== 'master') throw new Error(`A Sentinel sees the primary as ${known.get('flags')}`);
      if (known.get('port') !== String(this.primary.port)) throw new Error('A Sentinel watches another primary');
      for (const replica of await replicasOf(sentinel)) {
        if (replica.get('flags') !== 'slave') throw new Error(`A Sentinel sees a replica as ${replica.get('flags')}`);
      }
    }
  }

  private async askToSwitch(): Promise<void> {
    try {
      await this.sentinels[0].run((redis) => redis.call('SENTINEL', 'FAILOVER', NAME));
    } catch (error) {
      if (!String(error).includes('INPROG')) throw error; // it has begun
    }
  }

  private async asked(): Promise<RedisServer> {
    const alive = this.sentinels[0];
    const address = await alive.run((redis) => redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME));
    const port = Number((address as string[])[1]);
    const server = this.servers.find((one) => one.port === port);
    if (server === undefined) throw new Error('Sentinel names a server that is not of this topology');
    return server;
  }
}

async function replicasOf(sentinel: RedisServer): Promise<Map<string, string>[]> {
  const replicas = await sentinel.run((redis) => redis.call('SENTINEL', 'REPLICAS', NAME));
  return (replicas as unknown[]).map(factsOf);
}

function factsOf(reply: unknown): Map<string, string> {
  return new Map(pairs(Array.isArray(reply) ? (reply as string[]) : Object.entries(reply as object).flat()));
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]] as [string, string]] : []));
}
