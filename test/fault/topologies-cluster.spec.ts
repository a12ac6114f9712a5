import { once } from 'node:events';

import { Cluster } from 'ioredis';

import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import { processClock } from '../../libs/distribute-lock/src/runtime/clock.js';
import { ClusterConnection } from '../../libs/distribute-lock/src/store/redis/cluster-connection.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startFaultProxy, type FaultProxy } from '../support/proxy/fault-proxy.js';
import { startRedisCluster, type RedisCluster } from '../support/redis-cluster.js';
import type { RedisServer } from '../support/redis-server.js';
import { expectBelow } from './support/bound.js';
import { locksOn, PREFIX, type Locks } from './support/lock-engine.js';
import { fight, type Hold } from './support/loops.js';
import { monotonicMs } from '../support/monotonic.js';
import { fencingTokensRise, overlaps } from './support/witness.js';

let cluster: RedisCluster;
let client: Cluster;
let keys = 0;
const newKey = (): string => `key-${(keys += 1)}`;
const ownerOf = (key: string) => client.get(PREFIX + key);
const slotOf = (key: string) => client.cluster('KEYSLOT', PREFIX + key);

beforeAll(async () => {
  cluster = await startRedisCluster();
  client = new Cluster(cluster.startNodes);
  client.on('error', () => {}); // some nodes are killed
  onCleanup(() => client.disconnect());
  await once(client, 'ready');
}, 30_000);

function open(): Locks {
  const locks = locksOn(RedisLockStore.open({ cluster: cluster.startNodes }, { prefix: PREFIX }));
  onCleanup(() => locks.engine.close());
  return locks;
}

describe('a slot that is migrated back and forth', () => {
  const forMs = 20_000;
  const tag = '{moving}';

  it('under 20 held locks and 50 waiters: no overlap, no lost waiter, no error', async () => {
    const processes = [open(), open(), open(), open()];
    await Promise.all(processes.map(({ engine }) => engine.connect()));
    const held: Lease[] = await Promise.all(
      Array.from({ length: 20 }, (_, i) => processes[i % 4].acquire(`${tag}held-${i}`, { ttl: '8s' })),
    );
    const slot = await slotOf(tag);
    let migrations = 0;
    let migrating = true;
    const migrate = (async () => {
      for (; migrating; migrations += 1) {
        await cluster.migrateSlot(slot, cluster.masters[migrations % 3]);
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    })();
    // 50 callers compete for 5 keys.
    const fights = await Promise.all(
      Array.from({ length: 5 }, async (_, i) => {
        const plan = { key: `${tag}fought-${i}`, forMs, holdMs: 40, ttl: '8s', wait: '25s' } as const;
        const shares = processes.map((process, p) => fight(process, { ...plan, callers: p < 2 ? 3 : 2 }));
        return Promise.all(shares);
      }),
    );
    migrating = false;
    await migrate;
    for (const shares of fights) {
      const holds: Hold[] = shares.flatMap((share) => share.holds);
      expect(overlaps(holds)).toEqual([]);
      expect(fencingTokensRise(holds)).toBe(true);
      expect(shares.map(({ refusals }) => refusals)).toEqual([{}, {}, {}, {}]);
      for (const share of shares) expect(share.holds.length).toBeGreaterThan(3);
    }
    expect(migrations).toBeGreaterThan(20);
    expect(held.filter((lease) => !lease.isHeld())).toEqual([]);
    await Promise.all(held.map((lease) => lease.release()));
    await eventually(async () => expect(await ownerOf(`${tag}held-7`)).toBeNull());
  }, 40_000);
});

describe('a master that dies', () => {
  it('keeps the holder and serves the waiter once its replica has taken over', async () => {
    const [alice, bob] = [open(), open()];
    const key = newKey();
    const lease = await alice.acquire(key, { ttl: '10s' });
    const waiting = bob.acquire(key, { ttl: '10s', wait: '25s' });
    const home = await cluster.masterOf(await slotOf(key));
    await home.server.kill();
    const killedAt = monotonicMs();
    await eventually(async () => expect(await ownerOf(key)).toBe(lease.grant.ownerToken), 10_000);
    await eventually(async () => expect(await client.pttl(PREFIX + key)).toBeGreaterThan(9_000), 10_000);
    expect(lease.isHeld()).toBe(true);
    const releasedAt = monotonicMs();
    await lease.release();
    const next = await waiting;
    expectBelow(monotonicMs() - releasedAt, 2_500);
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    await next.release();
    expectBelow(monotonicMs() - killedAt, 15_000);
    await home.server.restart({ empty: false });
    await cluster.healthy();
  }, 90_000);
});

describe('a process that ends while it waits', () => {
  it('costs the others one claim window, because a Cluster does not count subscribers', async () => {
    const [alice, bob, carol] = [open(), open(), open()];
    const key = newKey();
    const lease = await alice.acquire(key);
    void bob.acquire(key, { wait: '20s' }).catch(() => undefined);
    await eventually(async () => expect(await client.zcard(`q1:{${PREFIX}${key}}`)).toBe(1));
    const waiting = carol.acquire(key, { wait: '20s' });
    await eventually(async () => expect(await client.zcard(`q1:{${PREFIX}${key}}`)).toBe(2));
    await bob.store.close(); // simulates a crash: no command is undone
    await lease.release();
    const releasedAt = monotonicMs();
    await (await waiting).release();
    expectBelow(monotonicMs() - releasedAt, 2_000);
  });
});

describe('a half-open connection', () => {
  async function startProxies() {
    const ports = cluster.nodes.map(({ server }) => server.port);
    const proxies = await Promise.all(ports.map((port) => startFaultProxy(port)));
    const near = proxies.map(({ port }) => ({ host: '127.0.0.1', port }));
    const natMap = Object.fromEntries(ports.map((port, i) => [`127.0.0.1:${port}`, near[i]]));
    return { near, natMap, proxies };
  }

  async function throughProxies(): Promise<{ locks: Locks; proxies: FaultProxy[] }> {
    const { near, natMap, proxies } = await startProxies();
    const locks = locksOn(RedisLockStore.open({ cluster: near, options: { natMap } }, { prefix: PREFIX }));
    onCleanup(() => locks.engine.close());
    return { locks, proxies };
  }

  async function newKeyNotOn(home: RedisCluster['masters'][number]): Promise<string> {
    const key = newKey();
    return (await cluster.masterOf(await slotOf(key))) === home ? newKeyNotOn(home) : key;
  }

  it('to one node does not affect the locks on the others', async () => {
    const { locks, proxies } = await throughProxies();
    const key = newKey();
    const home = await cluster.masterOf(await slotOf(key));
    const lease = await locks.acquire(key, { ttl: '20s' });
    const elsewhere = await newKeyNotOn(home);
    await (await locks.acquire(elsewhere)).release();
    const proxy = proxies[cluster.nodes.indexOf(home)];

    proxy.hold();
    await expect(
      locks.store.acquire({ key, ownerToken: 'x:1', ttlMs: 1_000, wait: false, block: 1 }),
    ).rejects.toThrow();
    const calledAt = monotonicMs();
    await (await locks.acquire(elsewhere)).release();
    expectBelow(monotonicMs() - calledAt, 500);
    await proxy.resume();
    await eventually(async () => {
      const renewed = await locks.store.renew([{ key, ownerToken: lease.grant.ownerToken, ttlMs: 20_000 }]);
      expect(renewed).toEqual([0]);
    }, 8_000);
    expect(lease.isHeld()).toBe(true);
    await lease.release();
  });

  it('to one node ends no lease on the others, also with a short ttl', async () => {
    const { locks, proxies } = await throughProxies();
    const key = newKey();
    const home = await cluster.masterOf(await slotOf(key));
    const elsewhere = await newKeyNotOn(home);
    for (const each of [key, elsewhere]) await (await locks.acquire(each)).release();
    const [here, there] = await Promise.all([key, elsewhere].map((each) => locks.acquire(each, { ttl: '3s' })));
    const proxy = proxies[cluster.nodes.indexOf(home)];
    proxy.hold();
    await eventually(() => expect(here.isHeld()).toBe(false));
    await proxy.resume();
    expect(there.isHeld()).toBe(true);
    await there.release();
  });

  it('to one node is closed after 2.5 s, and the others stay open', async () => {
    const { near, natMap, proxies } = await startProxies();
    const watched = new Cluster(near, { natMap });
    watched.on('error', () => {});
    const connection = new ClusterConnection(watched, processClock);
    onCleanup(() => connection.close());
    await connection.whenReady(5_000);
    const masters = watched.nodes('master');
    await Promise.all(masters.map((node) => node.ping()));
    // Numbers: a comparison of clients takes so long that it would block the event loop.
    const closed: number[] = [];
    for (const [i, node] of masters.entries()) node.on('close', () => closed.push(i));
    const mute = proxies.find(({ port }) => port === masters[1].options.port)!;

    const links = Array.from({ length: 1_000 }, (_, i) => connection.linkOf(`key-${i}`)!);
    const link = links.find((each) => each.client === masters[1])!;
    mute.hold();
    void link.track(masters[1].ping()).catch(() => undefined);
    await eventually(() => expect(closed).toEqual([1]));
    expect(connection.epoch).toBeGreaterThan(0);
    await mute.resume();
  });
});

describe('a slot without a master for some time (CLUSTERDOWN)', () => {
  it('is waited for, and a lock in it is kept', async () => {
    const [alice, bob] = [open(), open()];
    const lease = await alice.acquire(newKey(), { ttl: '6s' });
    await bob.engine.connect();
    const slot = await slotOf(lease.key);
    const home = await cluster.masterOf(slot);
    const masters = cluster.masters.map(({ server }) => server);
    // Its master no longer serves the slot, so all masters reply with CLUSTERDOWN.
    await home.server.run((redis) => redis.call('CLUSTER', 'DELSLOTS', String(slot)));
    const waiting = bob.acquire(lease.key, { wait: '20s' });
    const other = bob.acquire(`{${PREFIX}${lease.key}}other`);
    await expect(other).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    await home.server.run((redis) => redis.call('CLUSTER', 'ADDSLOTS', String(slot)));
    await Promise.all(masters.map((server) => eventually(async () => expect(await stateOf(server)).toBe('ok'))));
    await eventually(() => lease.extend('10s'));
    await lease.release();
    await (await waiting).release();
    await cluster.healthy();
  });
});

const stateOf = async (server: RedisServer): Promise<string | undefined> =>
  /cluster_state:(\w+)/.exec(await server.run((redis) => redis.cluster('INFO')))?.[1];
