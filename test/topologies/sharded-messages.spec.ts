import { setTimeout as sleep } from 'node:timers/promises';

import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { type Locks, locksOn, PREFIX } from '../fault/support/lock-engine.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisCluster } from '../support/redis-cluster.js';

/** A process that waits has subscribed by then. */
const SUBSCRIBED_MS = 150;
/** Far below a heartbeat, so that only a message can be so fast. */
const BY_MESSAGE_MS = 600;
/** A heartbeat with its jitter, a claim and a busy machine. */
const BY_HEARTBEAT_MS = 2_500;

const cluster = await startRedisCluster({ 'cluster-node-timeout': '5000' }, { masters: 8, replicasEach: 0 });
const servers = cluster.nodes.map(({ server }) => server);

function open(options = {}): Locks {
  const locks = locksOn(RedisLockStore.open({ cluster: cluster.startNodes, options }, { prefix: PREFIX }));
  onCleanup(() => locks.engine.close());
  return locks;
}

/** Number of messages on the Cluster bus by plain `PUBLISH`. */
async function plainMessages(): Promise<number> {
  const infos = await Promise.all(servers.map((server) => server.run((redis) => redis.cluster('INFO'))));
  return infos.reduce((sum, info) => sum + Number(/messages_publish_sent:(\d+)/.exec(info)?.[1] ?? 0), 0);
}

/** Sharded channels with subscribers, of all servers. */
async function channels(): Promise<string[]> {
  const all = await Promise.all(
    servers.map((server) => server.run((redis) => redis.call('PUBSUB', 'SHARDCHANNELS') as Promise<string[]>)),
  );
  return all.flat();
}

/** The waiter gets the lock from the holder; returns how long that took after the release. */
async function handOver(holder: Locks, waiter: Locks, key: string, before = async () => {}): Promise<number> {
  const held = await holder.acquire(key, { wait: '10s' });
  const waiting = waiter.acquire(key, { wait: '10s' });
  await sleep(SUBSCRIBED_MS);
  await before();
  const releasedAt = performance.now();
  await held.release();
  const lease = await waiting;
  const tookMs = performance.now() - releasedAt;
  await lease.release();
  return tookMs;
}

describe('Messages in a Cluster of eight masters', () => {
  // The first test: later ones find connections of earlier ones.
  it('come by a connection that is probed while a caller waits', async () => {
    const [one, other] = [open(), open()];
    const held = await one.acquire('probed', { wait: '10s' });
    const waiting = other.acquire('probed', { wait: '20s' });
    await sleep(6_000);
    const idle = await Promise.all(servers.map((server) => server.run((redis) => idleSeconds(redis))));
    expect(Math.max(...idle.flat())).toBeLessThan(4);
    await held.release();
    await (await waiting).release();
  }, 15_000);

  it('reach only the server of the lock, once both processes have waited', async () => {
    const [one, other] = [open(), open()];
    for (const [holder, waiter] of [
      [one, other],
      [other, one],
    ])
      await handOver(holder, waiter, 'hot');
    const before = await plainMessages();
    for (let i = 0; i < 10; i += 1) {
      expect(await handOver(one, other, 'hot')).toBeLessThan(BY_MESSAGE_MS);
      expect(await handOver(other, one, 'hot')).toBeLessThan(BY_MESSAGE_MS);
    }
    expect(await plainMessages()).toBe(before);
  }, 30_000);

  it.each(['{tag}:a', 'b:{tag}', '{open', 'a b', 'ä'])(
    'reach a waiter for the key %p on its sharded channel',
    async (key) => {
      const [one, other] = [open(), open()];
      await handOver(other, one, key);
      expect((await channels()).filter((name) => name.includes(`${PREFIX}${key}`))).toHaveLength(1);
      await handOver(one, other, key);
      const before = await plainMessages();
      expect(await handOver(one, other, key)).toBeLessThan(BY_MESSAGE_MS);
      expect(await plainMessages()).toBe(before);
    },
  );

  it('reach a client with a key prefix for each node on its sharded channel, also without a {tag}', async () => {
    const options = { redisOptions: { keyPrefix: 'app:' } };
    const [one, other] = [open(options), open(options)];
    await handOver(other, one, 'prefixed');
    await handOver(one, other, 'prefixed');
    const before = await plainMessages();
    expect(await handOver(one, other, 'prefixed')).toBeLessThan(BY_MESSAGE_MS);
    expect(await plainMessages()).toBe(before);
  });

  it('reach a waiter whose attempts wait for replicas on its sharded channel', async () => {
    const durability = { replicas: 0, timeoutMs: 100 };
    const waiter = locksOn(RedisLockStore.open({ cluster: cluster.startNodes }, { prefix: PREFIX, durability }));
    onCleanup(() => waiter.engine.close());
    const holder = open();
    await handOver(waiter, holder, 'durable');
    const held = await holder.acquire('durable', { wait: '10s' });
    const waiting = waiter.acquire('durable', { wait: '10s' });
    await eventually(async () => {
      expect((await channels()).filter((name) => name.includes(`${PREFIX}durable`))).toHaveLength(2);
    }, BY_MESSAGE_MS);
    await held.release();
    await (await waiting).release();
  });

  it('have a subscriber again after its connection was closed, without an attempt of a waiter', async () => {
    const [one, other] = [open(), open()];
    await handOver(one, other, 'again');
    const subscribed = async () => (await channels()).filter((name) => name.includes(`${PREFIX}again`));
    expect(await subscribed()).toHaveLength(1);
    await closeAll();
    expect(await subscribed()).toEqual([]);
    await eventually(async () => expect(await subscribed()).toHaveLength(1), 10_000);
  }, 15_000);

  it('go to all servers if the connection of the sharded channel was closed', async () => {
    const [one, other] = [open(), open()];
    for (let i = 0; i < 3; i += 1) {
      expect(await handOver(one, other, 'closed', closeAll)).toBeLessThan(BY_MESSAGE_MS);
    }
  });

  it('go to all servers if the waiter may not subscribe to a sharded channel', async () => {
    for (const server of servers)
      await server.run((redis) =>
        redis.call('ACL', 'SETUSER', 'old', 'on', 'nopass', '~*', '&*', '+@all', '-ssubscribe'),
      );
    const [one, other] = [open(), open({ redisOptions: { username: 'old', password: 'any' } })];
    expect(await handOver(one, other, 'old')).toBeLessThan(BY_MESSAGE_MS);
    expect(await handOver(one, other, 'old')).toBeLessThan(BY_MESSAGE_MS);
    expect((await channels()).filter((name) => name.includes(`${PREFIX}old`))).toEqual([]);
  });

  it('go to all servers if the holder may not publish to a sharded channel', async () => {
    for (const server of servers)
      await server.run((redis) =>
        redis.call('ACL', 'SETUSER', 'quiet', 'on', 'nopass', '~*', '&*', '+@all', '-spublish'),
      );
    const [one, other] = [open({ redisOptions: { username: 'quiet', password: 'any' } }), open()];
    expect(await handOver(one, other, 'unpublished')).toBeLessThan(BY_MESSAGE_MS);
  });

  it('wake a waiter whose slot has moved, at its next heartbeat at the latest', async () => {
    const [one, other] = [open(), open()];
    await handOver(one, other, '{moved}');
    const slot = await servers[0].run((redis) => redis.cluster('KEYSLOT', '{moved}'));
    for (const target of [cluster.masters[0], cluster.masters[1], cluster.masters[0]]) {
      expect(await handOver(one, other, '{moved}', () => cluster.migrateSlot(slot, target))).toBeLessThan(
        BY_HEARTBEAT_MS,
      );
    }
    await eventually(async () => expect(await handOver(one, other, '{moved}')).toBeLessThan(BY_MESSAGE_MS), 10_000);
  }, 30_000);

  it('leave no connection behind when the application closes', async () => {
    const [one, other] = [open(), open()];
    await handOver(one, other, 'closing');
    await Promise.all([one.engine.close(), other.engine.close()]);
    await eventually(async () => {
      expect((await channels()).filter((name) => name.includes('closing'))).toEqual([]);
    });
  });
});

async function closeAll(): Promise<void> {
  for (const server of servers) await server.run((redis) => closeSharded(redis));
}

interface Caller {
  call(...words: [string, ...string[]]): Promise<unknown>;
}

/** The lines of `CLIENT LIST` for connections with sharded channels. */
async function shardedClients(redis: Caller): Promise<string[]> {
  const clients = String(await redis.call('CLIENT', 'LIST', 'TYPE', 'pubsub'));
  return clients.split('\n').filter((line) => Number(/ ssub=(\d+)/.exec(line)?.[1] ?? 0) > 0);
}

/** Closes the connections with sharded channels and no other. */
async function closeSharded(redis: Caller): Promise<void> {
  for (const line of await shardedClients(redis)) {
    await redis.call('CLIENT', 'KILL', 'ID', /^id=(\d+)/.exec(line)![1]);
  }
}

/** Seconds since each of these connections sent a command. */
async function idleSeconds(redis: Caller): Promise<number[]> {
  return (await shardedClients(redis)).map((line) => Number(/ idle=(\d+)/.exec(line)![1]));
}
