import { Cluster, Redis } from 'ioredis';

import type { LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';
import { openMember } from '../../libs/distribute-lock/src/store/quorum/node-connection.js';
import { QuorumLockStore } from '../../libs/distribute-lock/src/store/quorum/quorum-lock-store.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { type Locks, locksOn } from '../fault/support/lock-engine.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startRedisCluster } from '../support/redis-cluster.js';
import { startRedisServer } from '../support/redis-server.js';

const OPTIONS = { ttl: '30s', wait: '30s' } as const;
/** Far below a heartbeat, so that only a message can be so fast. */
const BY_MESSAGE_MS = 600;
const ROUNDS = 4;

const [server, cluster, ...nodes] = await Promise.all([
  startRedisServer(),
  startRedisCluster(),
  ...[1, 2, 3].map(() => startRedisServer()),
]);
const { port } = server;
const keyPrefix = 'app:';
const short = { prefix: 'lock:' };
const long = { prefix: 'app:lock:' };

function kept<T extends Redis | Cluster>(client: T): T {
  onCleanup(() => client.disconnect());
  return client;
}

const onServer = (): LockStore => RedisLockStore.open(server.url, long);
const onCluster = (): LockStore => RedisLockStore.open({ cluster: cluster.startNodes }, long);
const onNodes = (): LockStore => new QuorumLockStore(nodes.map(({ url }) => openMember(url, long.prefix)));
const quorum = (member: (port: number) => ReturnType<typeof openMember>): LockStore =>
  new QuorumLockStore(nodes.map((node) => member(node.port)));

const SPELLINGS: readonly (readonly [string, () => LockStore, () => LockStore])[] = [
  ['options', () => RedisLockStore.open({ port, keyPrefix }, short), onServer],
  ['a URL', () => RedisLockStore.open(`${server.url}?keyPrefix=${keyPrefix}`, short), onServer],
  ["an application's client", () => RedisLockStore.open(kept(new Redis(port, { keyPrefix })), short), onServer],
  [
    'options of a Cluster',
    () => RedisLockStore.open({ cluster: cluster.startNodes, options: { keyPrefix } }, short),
    onCluster,
  ],
  [
    'options of the nodes of a Cluster',
    () => RedisLockStore.open({ cluster: cluster.startNodes, options: { redisOptions: { keyPrefix } } }, short),
    onCluster,
  ],
  [
    "an application's Cluster client",
    () => RedisLockStore.open(kept(new Cluster(cluster.startNodes, { keyPrefix })), short),
    onCluster,
  ],
  ['options of quorum nodes', () => quorum((of) => openMember({ port: of, keyPrefix }, short.prefix)), onNodes],
  [
    "an application's clients of quorum nodes",
    () => quorum((of) => openMember(kept(new Redis(of, { keyPrefix })), short.prefix)),
    onNodes,
  ],
];

const admins = [server, ...cluster.nodes.map((node) => node.server), ...nodes].map(({ url }) => kept(new Redis(url)));
const everywhere = async (read: (admin: Redis) => Promise<unknown>): Promise<string[]> =>
  [...new Set((await Promise.all(admins.map(read))).flat() as string[])].sort();

function start(store: LockStore): Locks {
  const locks = locksOn(store);
  onCleanup(() => locks.engine.close());
  return locks;
}

describe.each(SPELLINGS)('A keyPrefix in %s and the same text in "prefix"', (_, opened, plain) => {
  beforeEach(async () => {
    await Promise.all(admins.map((admin) => admin.flushall().catch(() => undefined)));
  });

  it('name one lock, one queue, one counter and the same channels', async () => {
    const both = [start(opened()), start(plain())];
    const tokens: number[] = [];
    const times: number[] = [];
    let held = await both[0].acquire('job', OPTIONS);
    for (let i = 1; i <= ROUNDS; i += 1) {
      tokens.push(held.fencingToken);
      const waiting = both[i % 2].acquire('job', OPTIONS);
      await eventually(async () => expect(await everywhere((admin) => admin.keys('q1:*'))).not.toEqual([]), 10_000);
      const keys = await everywhere((admin) => admin.keys('*'));
      expect(keys).toContain('app:lock:job');
      expect(keys).toContain('q1:{app:lock:job}');
      const known =
        /^(app:lock:job|q1:\{app:lock:job\}|f1:\{?app:lock:(job\})?:9|qm1:app:lock:|p1:app:lock:[\w-]{11})$/;
      expect(keys.filter((key) => !known.test(key))).toEqual([]);
      // A waiter in the queue of a quorum may still subscribe.
      await new Promise((resolve) => setTimeout(resolve, 200));
      const releasedAt = performance.now();
      await held.release();
      held = await waiting;
      times.push(performance.now() - releasedAt);
    }
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(ROUNDS);
    expect(Math.min(...times.filter((_time, i) => i % 2 === 0))).toBeLessThan(BY_MESSAGE_MS);
    expect(Math.min(...times.filter((_time, i) => i % 2 === 1))).toBeLessThan(BY_MESSAGE_MS);
    const subscribed = (): Promise<string[]> => everywhere((admin) => admin.pubsub('CHANNELS', 'nestjs-lock:*'));
    await eventually(async () => expect(await subscribed()).toHaveLength(2), 10_000);
    const channels = await subscribed();
    for (const channel of channels) expect(channel).toMatch(/^nestjs-lock:1:app:lock:[\w-]+$/);
    // A quorum cannot be inspected.
    if (both[0].store.inspect !== undefined) {
      const seen = await Promise.all(both.map(async ({ engine }) => (await engine.inspect('job')).holders));
      expect(seen.map(([holder]) => holder.process)).toEqual([expect.any(String), seen[0][0].process]);
    }
    await held.release();
    await Promise.all(both.map(({ engine }) => engine.close()));
  });
});
