import { inspect } from 'node:util';

import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { RedisOptions } from 'ioredis';
import { LockModule, LockService } from 'nestjs-distribute-lock';

import { RecordingLogger } from '../nest/support/recording-logger.js';
import { eventually } from '../support/eventually.js';
import { type RedisClusterNode, startRedisCluster } from '../support/redis-cluster.js';
import { documentedAcl, user } from './documented-acl.js';

const cluster = await startRedisCluster();
const refusing = cluster.masters[0].server;
const ADDRESS = `127.0.0.1:${refusing.port}`;
/** In slots of all masters. */
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];

const shown = (error: unknown): string => inspect(error, { depth: null });

describe('A Cluster that refuses the user', () => {
  let app: INestApplicationContext | undefined;
  const logger = new RecordingLogger();

  async function start(redisOptions: RedisOptions, connectOnBoot: boolean): Promise<LockService> {
    const connection = { cluster: cluster.startNodes, options: { redisOptions } };
    @Module({ imports: [LockModule.forRoot({ connection, connectOnBoot })] })
    class App {}
    app = await NestFactory.createApplicationContext(App, { logger, abortOnError: false });
    return app.get(LockService);
  }

  /** The error of the first refused call, with its causes. */
  async function refusal(locks: LockService): Promise<string> {
    for (const key of KEYS) {
      try {
        await (await locks.acquire(key)).release();
      } catch (error) {
        return shown(error);
      }
    }
    throw new Error('No call was refused.');
  }

  async function addUser(nodes: readonly RedisClusterNode[]): Promise<void> {
    const acl = documentedAcl('Redis Cluster, on every node');
    for (const { server } of nodes) await server.run((redis) => redis.call('ACL', 'SETUSER', ...acl));
  }

  const logged = (): string => JSON.stringify(logger.about('The connection to'));

  afterEach(async () => {
    await app?.close();
    app = undefined;
    logger.lines.length = 0;
  });

  it('names a node at the start and in the log, when no node has the user', async () => {
    const refused = await start(user, true).then(() => 'started', shown);
    expect(refused).toMatch(/Redis Cluster node 127\.0\.0\.1:\d+ request failed: WRONGPASS/);
    expect(logged()).toMatch(/failed: 127\.0\.0\.1:\d+: .*WRONGPASS/);
    expect(refused + logged()).not.toContain(user.password);
  });

  it('names a node in the error, when only the replicas have the user', async () => {
    await addUser(cluster.replicas);
    const refused = await refusal(await start(user, false));
    expect(refused).toMatch(/127\.0\.0\.1:\d+: .*WRONGPASS/);
    expect(refused).not.toContain(user.password);
  });

  it('names the node in the error and in the log, when one master has no such user', async () => {
    await addUser(cluster.nodes.filter(({ server }) => server !== refusing));
    const locks = await start(user, false);
    const refused = await refusal(locks);
    expect(refused).toMatch(new RegExp(`${ADDRESS}\\b.*WRONGPASS`));
    expect(refused).not.toContain(user.password);
    await eventually(() => expect(logged()).toMatch(new RegExp(`failed: ${ADDRESS}: .*WRONGPASS`)), 5_000);
    expect(logged()).not.toContain(user.password);
  });

  it('names the node in the error and in the log, when one master requires a password', async () => {
    await refusing.run(async (admin) => {
      await admin.config('SET', 'requirepass', 'hunter2');
      try {
        const refused = await refusal(await start({}, false));
        expect(refused).toMatch(new RegExp(`${ADDRESS}\\b.*NOAUTH`));
        await eventually(() => expect(logged()).toMatch(new RegExp(`failed: ${ADDRESS}: .*NOAUTH`)), 5_000);
      } finally {
        await admin.config('SET', 'requirepass', '');
      }
    });
    await eventually(() => expect(logged()).toContain('works again'), 15_000);
  }, 30_000);

  it('forgets the refusal when the nodes accept the user', async () => {
    for (const { server } of cluster.masters) await server.run((redis) => redis.call('ACL', 'DELUSER', user.username));
    await addUser(cluster.replicas);
    const locks = await start(user, false);
    expect(await refusal(locks)).toContain('WRONGPASS');
    await addUser(cluster.masters);
    await eventually(() => Promise.all(KEYS.map(async (key) => (await locks.acquire(key)).release())), 15_000);
    refusing.pause();
    const unanswered = await refusal(locks).finally(() => refusing.resume());
    expect(unanswered).toMatch(/did not respond within \d+ ms/);
    expect(unanswered).not.toContain('WRONGPASS');
  }, 30_000);
});
