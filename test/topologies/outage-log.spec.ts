import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockModule, type LockModuleOptions, LockService } from 'nestjs-distribute-lock';

import { RecordingLogger } from '../nest/support/recording-logger.js';
import { eventually } from '../support/eventually.js';
import { startOneNodeCluster, startRedisCluster } from '../support/redis-cluster.js';
import { startPrimaries } from '../support/redis-primaries.js';
import type { RedisServer } from '../support/redis-server.js';
import { startSentinelTopology } from '../support/redis-sentinels.js';

/** In slots of all masters. */
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
const REPORTED_WITHIN_MS = 15_000;
const BACK_WITHIN_MS = 30_000;

describe('The log of an application reports an outage and its end', () => {
  let app: INestApplicationContext | undefined;
  const logger = new RecordingLogger();

  async function start(options: LockModuleOptions): Promise<LockService> {
    @Module({ imports: [LockModule.forRoot(options)] })
    class App {}
    app = await NestFactory.createApplicationContext(App, { logger, abortOnError: false });
    const locks = app.get(LockService);
    for (const key of KEYS) await (await locks.acquire(key)).release();
    return locks;
  }

  /** The lines about the connection. */
  const lines = (): string[] => logger.about('The connection to').map(([level, text]) => `${level}: ${text}`);

  afterEach(async () => {
    await app?.close();
    logger.lines.length = 0;
  });

  it('behind Sentinel', async () => {
    const topology = await startSentinelTopology();
    const locks = await start({ connection: topology.connection });
    expect(lines()).toEqual([]);
    const old = topology.primary;
    await old.kill();
    await eventually(() => expect(lines()).toHaveLength(1), REPORTED_WITHIN_MS);
    expect(lines()[0]).toMatch(/^warn: The connection to Redis "main" of Sentinel 127\.0\.0\.1:\d+.* failed: /);
    await eventually(() => expect(lines()).toHaveLength(2), BACK_WITHIN_MS);
    expect(lines()[1]).toMatch(/^log: The connection to Redis "main" of Sentinel .* works again after \d+\.\d s;/);
    await (await locks.acquire('a', { wait: '5s' })).release();
  }, 90_000);

  it('in a Cluster that loses one master', async () => {
    const cluster = await startRedisCluster();
    const locks = await start({ connection: { cluster: cluster.startNodes } });
    const lost = cluster.masters[0].server;
    await lost.kill();
    await eventually(() => expect(lines()).toHaveLength(1), REPORTED_WITHIN_MS);
    expect(lines()[0]).toMatch(new RegExp(`^warn: The connection to Redis Cluster .* failed: .*`));
    expect(lines()[0]).toContain(`127.0.0.1:${lost.port}`);
    await eventually(async () => {
      for (const key of KEYS) await (await locks.acquire(key)).release();
      expect(lines()).toHaveLength(2);
    }, BACK_WITHIN_MS);
    expect(lines()[1]).toMatch(/^log: The connection to Redis Cluster .* works again after/);
  }, 90_000);

  it('in a Cluster that loses one master, while no call is made', async () => {
    const cluster = await startRedisCluster();
    await start({ connection: { cluster: cluster.startNodes } });
    await cluster.masters[0].server.kill();
    await eventually(() => expect(lines()).toHaveLength(2), BACK_WITHIN_MS);
    expect(lines()[1]).toMatch(/^log: The connection to Redis Cluster .* works again after .* 0 calls failed/);
  }, 90_000);

  it('in a Cluster whose only master restarts, while no call is made', async () => {
    const server = await startOneNodeCluster();
    await start({ connection: { cluster: [{ host: '127.0.0.1', port: server.port }] } });
    await server.kill();
    await eventually(() => expect(lines()).toHaveLength(1), REPORTED_WITHIN_MS);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await server.restart({ empty: false });
    await eventually(() => expect(lines()).toHaveLength(2), BACK_WITHIN_MS);
    expect(lines()[1]).toMatch(/^log: The connection to Redis Cluster .* works again after .* 0 calls failed/);
  }, 90_000);

  it('in a Cluster that loses all nodes', async () => {
    const cluster = await startRedisCluster();
    await start({ connection: { cluster: cluster.startNodes } });
    const servers: RedisServer[] = cluster.nodes.map(({ server }) => server);
    await Promise.all(servers.map((server) => server.kill()));
    await eventually(() => expect(lines()).toHaveLength(1), REPORTED_WITHIN_MS);
    expect(lines()[0]).toMatch(/^warn: The connection to Redis Cluster 127\.0\.0\.1:\d+.* failed: /);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(lines()).toHaveLength(1);
  }, 90_000);

  it('of one node of a quorum, by its address', async () => {
    const servers = await startPrimaries(3);
    await start({ connection: servers.map(({ url }) => url) });
    await servers[1].kill();
    await eventually(() => expect(lines()).toHaveLength(1), REPORTED_WITHIN_MS);
    expect(lines()[0]).toMatch(
      new RegExp(`^warn: The connection to Redis 127\\.0\\.0\\.1:${servers[1].port} failed: .*ECONNREFUSED`),
    );
    await servers[1].restart();
    await eventually(() => expect(lines()).toHaveLength(2), BACK_WITHIN_MS);
    expect(lines()[1]).toMatch(
      new RegExp(
        `^log: The connection to Redis 127\\.0\\.0\\.1:${servers[1].port} works again after .* 0 calls failed`,
      ),
    );
  }, 60_000);
});
