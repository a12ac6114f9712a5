import type { RedisOptions } from 'ioredis';
import { eventually } from './eventually.js';
import { startPrimaries } from './redis-primaries.js';
import { startRedisServer, type RedisServer } from './redis-server.js';

const NAME = 'main';
const QUORUM = '2';
const SENTINELS = 3;
/**
 * A Sentinel probes a primary once a second, also a new one. So a limit of 1 s would sometimes give up a new primary at
 * once.
 */
const DOWN_AFTER_MS = 1_500;
const SETTINGS = { 'failover-timeout': '1500', 'parallel-syncs': '5' };
const FORMS_WITHIN_MS = 15_000;
const HEALS_WITHIN_MS = 25_000;
/** A failover takes the time above, plus an election and the connection of a replica. */
const FAILS_OVER_WITHIN_MS = 20_000;
/**
 * How long a failover by request may take before Sentinel gives up. It reads once a second whether the replica was promoted, which
 * takes longer than the setting above on a busy machine. A failover without a request needs that setting: Sentinel repeats an
 * election that failed after twice this time.
 */
const GIVES_UP_AFTER_MS = 8_000;
/** This allows some more failovers. */
const SWITCHES_WITHIN_MS = 75_000;
/** How much of each log an error contains. */
const LOG_LINES = 25;
/** Replicas must sync at once, also after a restart. */
const REPLICA = { 'repl-diskless-sync-delay': '0', 'repl-ping-replica-period': '1' };

export interface SentinelTopologyOptions {
  readonly replicas?: number;
  /** Settings of the primary and its replicas, as in redis.conf. */
  readonly config?: Readonly<Record<string, string>>;
  /** How long a server may be silent before the Sentinels consider it dead. @defaultValue 1500 */
  readonly downAfterMs?: number;
}

/** Starts a primary, its replicas, and three Sentinels that know each other; all end with the spec file. */
export async function startSentinelTopology(options: SentinelTopologyOptions = {}): Promise<SentinelTopology> {
  const { replicas = 2, config = {}, downAfterMs = DOWN_AFTER_MS } = options;
  const [servers, sentinels] = await Promise.all([
    startPrimaries(1 + replicas, { config: { ...REPLICA, ...config } }),
    Promise.all(Array.from({ length: SENTINELS }, () => startRedisServer({ sentinel: true }))),
  ]);
  const topology = new SentinelTopology(servers, sentinels);
  await topology.form({ ...SETTINGS, 'down-after-milliseconds': String(downAfterMs) });
  return topology;
}

/** A primary watched by Sentinels. When it is killed or stopped, one of its replicas replaces it. */
export class SentinelTopology {
  private current: RedisServer;

  constructor(
    readonly servers: readonly RedisServer[],
    readonly sentinels: readonly RedisServer[],
  ) {
    this.current = servers[0];
  }

  /** The primary, according to the last reply of the Sentinels. */
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
  async form(settings: Readonly<Record<string, string>>): Promise<void> {
    const { primary } = this;
    for (const replica of this.replicas) {
      await replica.run((redis) => redis.replicaof('127.0.0.1', primary.port));
    }
    await this.inStep();
    for (const sentinel of this.sentinels) {
      await sentinel.run(async (redis) => {
        await redis.call('SENTINEL', 'MONITOR', NAME, '127.0.0.1', String(primary.port), QUORUM);
        await redis.call('SENTINEL', 'SET', NAME, ...Object.entries(settings).flat());
      });
    }
    await eventually(() => this.watched(), FORMS_WITHIN_MS);
  }

  /** Resolves when the replicas have all writes of the primary. */
  async inStep(): Promise<void> {
    await eventually(() => this.replicated(), FORMS_WITHIN_MS);
  }

  /** Resolves with the new primary after a failover. `begin` causes it; by default it kills the old primary. */
  async failover(begin: (old: RedisServer) => unknown = (old) => old.kill()): Promise<RedisServer> {
    const old = this.primary;
    await begin(old);
    this.current = await this.replaced(() => this.successorOf(old), FAILS_OVER_WITHIN_MS);
    return this.current;
  }

  /** A failover by request: the old primary continues as a replica. */
  async switchOver(): Promise<RedisServer> {
    await this.settled();
    const old = this.primary;
    await this.giveUpAfter(GIVES_UP_AFTER_MS);
    this.current = await this.replaced(async () => {
      await this.askToReplace(old);
      return this.successorOf(old);
    }, SWITCHES_WITHIN_MS);
    await this.giveUpAfter(Number(SETTINGS['failover-timeout']));
    return this.current;
  }

  private async giveUpAfter(ms: number): Promise<void> {
    for (const sentinel of this.sentinels) {
      await sentinel.run((redis) => redis.call('SENTINEL', 'SET', NAME, 'failover-timeout', String(ms)));
    }
  }

  /** Tries for `withinMs`; the error contains what the Sentinels and the servers have logged. */
  private async replaced(attempt: () => Promise<RedisServer>, withinMs: number): Promise<RedisServer> {
    try {
      return await eventually(attempt, withinMs);
    } catch (error) {
      const logs = [...this.sentinels, ...this.servers].map(
        ({ port, log }) => `Port ${port}:\n${log.trimEnd().split('\n').slice(-LOG_LINES).join('\n')}`,
      );
      const message = `${(error as Error).message}. The Sentinels and the servers:\n${logs.join('\n\n')}`;
      throw new Error(message, { cause: error });
    }
  }

  /**
   * Restarts a killed server without data as a replica of the current primary, and waits until the topology is
   * complete.
   */
  async heal(server: RedisServer): Promise<void> {
    await server.restart();
    await server.run((redis) => redis.replicaof('127.0.0.1', this.primary.port));
    await this.settled();
  }

  /** Resolves when the topology is complete, with any server as its primary. */
  async settled(): Promise<void> {
    await eventually(async () => {
      // On a busy machine Sentinel may consider a slow primary dead, and fail over once more.
      await this.ask();
      await this.replicated();
      await this.watched();
    }, HEALS_WITHIN_MS);
  }

  /** Asks Sentinel for the current primary. */
  async ask(): Promise<RedisServer> {
    this.current = await this.reported();
    return this.current;
  }

  /** Uses a separate connection, because Sentinel closes those of a server that it promotes. */
  private async replicated(): Promise<void> {
    const facts = await this.primary.run((redis) => redis.info('replication'));
    const states = [...facts.matchAll(/state=online/g)];
    if (states.length !== this.replicas.length) throw new Error(`${states.length} replicas are in sync`);
    for (const replica of this.replicas) {
      // "online" for the primary while it still loads the data that it received.
      const own = await replica.run((redis) => redis.info('replication'));
      if (!own.includes('master_link_status:up')) throw new Error('A replica has not loaded the data of its primary');
      if (offsetIn(own, 'slave') < offsetIn(facts, 'master')) throw new Error('A replica lacks writes of its primary');
    }
  }

  /** Every Sentinel must know all servers as alive; otherwise a failover is slow. */
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

  /** Asks again after Sentinel has given up: it does so when a replica of a busy machine does not reply in time. */
  private async askToReplace(old: RedisServer): Promise<void> {
    const sentinel = await this.acting();
    await sentinel.run(async (redis) => {
      const known = factsOf(await redis.call('SENTINEL', 'MASTER', NAME));
      const begun = known.get('flags')?.includes('failover_in_progress');
      if (!begun && known.get('port') === String(old.port)) await redis.call('SENTINEL', 'FAILOVER', NAME);
    });
  }

  /** A Sentinel that was stopped for 2 s enters TILT mode: it replies, and does nothing else for 30 s. */
  private async acting(): Promise<RedisServer> {
    for (const sentinel of this.sentinels) {
      const facts = await sentinel.run((redis) => redis.info('sentinel'));
      if (facts.includes('sentinel_tilt:0')) return sentinel;
    }
    throw new Error('Every Sentinel is in TILT mode');
  }

  private async successorOf(old: RedisServer): Promise<RedisServer> {
    const server = await this.reported();
    if (server === old) throw new Error('Sentinel still reports the old server as the primary');
    const [role] = await server.run((redis) => redis.role());
    if (role !== 'master') throw new Error('The new primary is not a master yet');
    return server;
  }

  private async reported(): Promise<RedisServer> {
    const alive = this.sentinels[0];
    const address = await alive.run((redis) => redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME));
    const port = Number((address as string[])[1]);
    const server = this.servers.find((one) => one.port === port);
    if (server === undefined) throw new Error('Sentinel names a server outside this topology');
    return server;
  }
}

async function replicasOf(sentinel: RedisServer): Promise<Map<string, string>[]> {
  const replicas = await sentinel.run((redis) => redis.call('SENTINEL', 'REPLICAS', NAME));
  return (replicas as unknown[]).map(factsOf);
}

/** The position in the stream of writes, from `INFO replication`. */
function offsetIn(facts: string, role: 'master' | 'slave'): number {
  return Number(new RegExp(`${role}_repl_offset:(\\d+)`).exec(facts)![1]);
}

function factsOf(reply: unknown): Map<string, string> {
  return new Map(pairs(Array.isArray(reply) ? (reply as string[]) : Object.entries(reply as object).flat()));
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]] as [string, string]] : []));
}
