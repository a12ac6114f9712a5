import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { onCleanup } from './cleanup.js';
import { eventually } from './eventually.js';
import { startRedisCluster } from './redis-cluster.js';
import { startPrimaries } from './redis-primaries.js';
import { startSentinelTopology } from './redis-sentinels.js';

/** Longer than the `failover-timeout` of the Sentinels. */
const GIVEN_UP_AFTER_MS = 4_000;
/** Longer than the 2 s after which a Sentinel enters TILT mode. */
const TILTS_AFTER_MS = 2_500;

describe('startPrimaries', () => {
  it('starts primaries that do not know each other', async () => {
    const primaries = await startPrimaries(5);

    await primaries[0].run((redis) => redis.set('key', 'value'));

    const sizes = await Promise.all(primaries.map((primary) => primary.run((redis) => redis.dbsize())));
    expect(sizes).toEqual([1, 0, 0, 0, 0]);
  });
});

describe('startSentinelTopology', () => {
  it('promotes a replica that has the data when the primary dies, and adds the old primary as a replica', async () => {
    const topology = await startSentinelTopology();
    const client = new Redis({ ...topology.connection, retryStrategy: () => 50 });
    client.on('error', () => {}); // it asks Sentinel repeatedly
    onCleanup(() => client.disconnect());
    const [acknowledged] = (await client.pipeline().set('key', 'value').wait(2, 5_000).exec())!.slice(1);
    expect(acknowledged).toEqual([null, 2]);

    const old = topology.primary;
    const promoted = await topology.failover();

    expect(await eventually(() => client.get('key'))).toBe('value');
    expect(await promoted.run((redis) => redis.get('key'))).toBe('value');
    await topology.heal(old);
    expect(await old.run((redis) => redis.get('key'))).toBe('value');
  }, 90_000);

  it('requests a failover again after Sentinel gave one up, because the replica did not reply', async () => {
    const topology = await startSentinelTopology({ replicas: 1 });
    const [replica] = topology.replicas;
    replica.pause();
    const resumed = delay(GIVEN_UP_AFTER_MS).then(() => replica.resume());

    expect(await topology.switchOver()).toBe(replica);
    await resumed;
  }, 60_000);

  it('requests a failover from another Sentinel while one is in TILT mode', async () => {
    const topology = await startSentinelTopology({ replicas: 1 });
    const [tilted] = topology.sentinels;
    const [replica] = topology.replicas;
    tilted.pause();
    await delay(TILTS_AFTER_MS);
    tilted.resume();
    await eventually(() => expect(tilted.log).toContain('+tilt'));

    expect(await topology.switchOver()).toBe(replica);
    expect(tilted.log).not.toContain('user requested FAILOVER');
  }, 120_000);
});

describe('startRedisCluster', () => {
  it('serves all slots, moves one with its keys, and survives the death of a master', async () => {
    const cluster = await startRedisCluster();
    const client = new Cluster(cluster.startNodes);
    client.on('error', () => {}); // the test kills a node
    onCleanup(() => client.disconnect());
    for (const key of ['a', 'b', 'c', 'd', 'e']) await client.set(key, key);
    const slot = await client.cluster('KEYSLOT', 'a');
    const home = await cluster.masterOf(slot);
    const other = cluster.masters.find((master) => master !== home)!;

    await cluster.migrateSlot(slot, other);
    expect(await cluster.masterOf(slot)).toBe(other);
    expect(await client.get('a')).toBe('a');
    await cluster.migrateSlot(slot, home);

    await home.server.kill();
    expect(await eventually(() => client.get('a'), 15_000)).toBe('a');
    const replica = cluster.replicas[cluster.masters.indexOf(home)];
    // The other nodes may learn of the new master later than the client.
    await eventually(async () => expect((await cluster.masterOf(slot)).id).toBe(replica.id));
  }, 90_000);
});
