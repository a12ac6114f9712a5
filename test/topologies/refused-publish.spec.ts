import { channel } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';

import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';

import { LockModule } from '../../libs/distribute-lock/src/nest/module/lock.module.js';
import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { type Connection, type Locks, openLocks, type StoreSettings } from '../fault/support/lock-engine.js';
import { median } from '../fault/support/median.js';
import { startOneNodeCluster, startRedisCluster } from '../support/redis-cluster.js';
import { startPrimaries } from '../support/redis-primaries.js';
import { eventually } from '../support/eventually.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { documentedAcl, user } from './documented-acl.js';

const HEARTBEAT_MS = 1_430;
const ONE_PRIMARY = 'one primary, with Sentinel or without; each node of a quorum';
const CLUSTER = 'Redis Cluster, on every node';

interface World {
  readonly servers: readonly RedisServer[];
  readonly acl: string;
  readonly connection: Connection;
  readonly store?: StoreSettings;
}

async function onePrimary(): Promise<World> {
  const server = await startRedisServer();
  return { servers: [server], acl: ONE_PRIMARY, connection: { port: server.port, ...user } };
}

async function overResp2(): Promise<World> {
  const server = await startRedisServer();
  return { servers: [server], acl: ONE_PRIMARY, connection: { port: server.port, protocol: 2, ...user } };
}

async function inOneSlot(): Promise<World> {
  const server = await startOneNodeCluster();
  return { servers: [server], acl: ONE_PRIMARY, connection: { port: server.port, ...user } };
}

async function cluster(): Promise<World> {
  const { nodes, startNodes } = await startRedisCluster();
  const servers = nodes.map(({ server }) => server);
  return { servers, acl: CLUSTER, connection: { cluster: startNodes, options: { redisOptions: user } } };
}

async function quorum(): Promise<World> {
  const servers = await startPrimaries(3);
  return { servers, acl: ONE_PRIMARY, connection: servers.map(({ port }) => Object.assign({ port }, user)) };
}

/** Replaces the permissions of the user that holds and waits for locks. */
async function permit({ servers, acl }: World, change: (rules: string[]) => string[]): Promise<void> {
  for (const server of servers) {
    const [name, ...rules] = documentedAcl(acl);
    await server.run((redis) => redis.call('ACL', 'SETUSER', name, 'reset', ...change(rules)));
  }
}

const withoutPublish = (rules: string[]): string[] => rules.filter((rule) => rule !== '+publish');

const degraded = ({ events }: Locks): string[] =>
  events.flatMap(({ type, error }) => (type === 'degraded' ? (error?.message ?? '') : []));

/** Durations of hand-overs from one process to the other, in milliseconds. */
async function handOvers(from: Locks, to: Locks, count: number): Promise<number[]> {
  const durations: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const lease = await from.acquire(`hand-over ${i}`);
    const waiting = to.acquire(`hand-over ${i}`, { wait: '10s' });
    await sleep(30);
    const releasedAt = performance.now();
    await lease.release();
    await (await waiting).release();
    durations.push(performance.now() - releasedAt);
  }
  return durations;
}

describe.each([
  ['one primary', onePrimary],
  ['one primary, RESP2', overResp2],
  ['a server that only runs scripts for one slot', inOneSlot],
  ['a Cluster', cluster],
  ['a quorum', quorum],
])('P12: without the right to publish, on %s', (_, start) => {
  it('waiters poll from the first heartbeat on, one event names the right, and messages are used again later', async () => {
    const world = await start();
    await permit(world, withoutPublish);
    const [here, there] = [openLocks(world.connection, {}, world.store), openLocks(world.connection, {}, world.store)];
    await Promise.all([here, there].map(({ engine }) => engine.connect()));
    const available: boolean[] = [];
    const state = channel('nestjs-distribute-lock:state');
    const listen = (message: unknown): void => {
      const { type, available: now } = message as { type: string; available: boolean };
      if (type === 'pubsub') available.push(now);
    };
    state.subscribe(listen);

    const lease = await here.acquire('first');
    const waiting = there.acquire('first', { wait: '10s' });
    await eventually(() => expect(degraded(there)).toHaveLength(1), HEARTBEAT_MS);
    const [text] = degraded(there);
    expect(text).toMatch(/polls? Redis up to 10 times per second: .*refuses PUBLISH/);
    expect(text).toContain('"+publish" and "&nestjs-lock:1:lock:*"');
    expect(text).not.toContain(user.password);
    await lease.release();
    await (await waiting).release();

    expect(median(await handOvers(here, there, 9))).toBeLessThan(330);
    expect(degraded(there)).toHaveLength(1);
    // The other process reports its subscription, too.
    expect(available).toContain(false);

    await permit(world, (rules) => rules);
    const since = available.length;
    const later = await here.acquire('later');
    const waitsLater = there.acquire('later', { wait: '10s' });
    await eventually(() => expect(available.slice(since)).toContain(true), 2 * HEARTBEAT_MS);
    await later.release();
    await (await waitsLater).release();
    expect(median(await handOvers(here, there, 9))).toBeLessThan(60);
    expect(degraded(there)).toHaveLength(1);

    state.unsubscribe(listen);
    await Promise.all([here, there].map(({ engine }) => engine.close()));
  });
});

describe('P12: without the right to publish, but to sharded channels, on a server that only runs scripts for one slot', () => {
  it('waiters get messages on a channel in the slot of their lock', async () => {
    const world = await inOneSlot();
    await permit(world, (rules) => [...withoutPublish(rules), '+spublish', '+ssubscribe', '+sunsubscribe']);
    const [here, there] = [openLocks(world.connection), openLocks(world.connection)];
    await Promise.all([here, there].map(({ engine }) => engine.connect()));
    const took: number[] = [];
    for (let i = 0; i < 9; i += 1)
      took.push(...(await handOvers(here, there, 1)), ...(await handOvers(there, here, 1)));
    expect(median(took)).toBeLessThan(60);
    await sleep(HEARTBEAT_MS);
    expect([...degraded(here), ...degraded(there)]).toEqual([]);
    await Promise.all([here, there].map(({ engine }) => engine.close()));
  });
});

describe('P26: an application without the right to publish', () => {
  it('logs one warning, which names the right', async () => {
    const world = await onePrimary();
    await permit(world, withoutPublish);
    const { connection } = world as { connection: { port: number } };
    const holder = openLocks(connection);
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const testing = await Test.createTestingModule({ imports: [LockModule.forRoot({ connection })] }).compile();
    const app = await testing.createNestApplication().init();
    for (let i = 0; i < 2; i += 1) {
      const lease = await holder.acquire('logged');
      const waiting = app.get(LockService).withLock('logged', { wait: '10s' }, async () => undefined);
      await sleep(HEARTBEAT_MS);
      await lease.release();
      await waiting;
    }
    await app.close();
    await holder.engine.close();
    const warnings = warn.mock.calls.map(([message]) => String(message));
    warn.mockRestore();
    expect(warnings).toEqual([expect.stringMatching(/Pub\/sub is unavailable.*"\+publish"/s)]);
  });
});

describe('An idle process and a lock without waiters', () => {
  it('check no messages', async () => {
    const server = await startRedisServer();
    const locks = openLocks({ port: server.port });
    for (let i = 0; i < 3; i += 1) {
      await (await locks.acquire('free', { wait: '10s' })).release();
      await sleep(500);
    }
    expect(await server.run((redis) => redis.info('commandstats'))).not.toContain('cmdstat_publish:');
    await locks.engine.close();
  });
});
