import { setTimeout as sleep } from 'node:timers/promises';

import { Redis } from 'ioredis';

import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startFaultProxy } from '../support/proxy/fault-proxy.js';
import { startRedisServer } from '../support/redis-server.js';
import { locksOn, PREFIX, type Locks } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const ttl = '30s';
/** Longer than a script call takes; shorter than a `WAIT` takes without a replica. */
const ONCE_IN_MS = 20;
const QUESTIONS = 60;
const TRIES = 12;
/**
 * With one `WAIT` per attempt, one attempt in five would get a reply in time. On a busy machine a few are late anyway.
 */
const MOST = QUESTIONS * 0.6;

describe('Locks that a replica must acknowledge', () => {
  const world = useLockWorld({ config: { 'repl-diskless-sync-delay': '0' } });

  async function open(timeoutMs: number): Promise<Locks> {
    const locks = locksOn(
      RedisLockStore.open(world.server.url, { prefix: PREFIX, durability: { replicas: 1, timeoutMs } }),
    );
    onCleanup(() => locks.engine.close());
    await locks.engine.connect();
    return locks;
  }

  /** Sends one attempt after the other, each for another key, and returns their outcomes. */
  async function ask(locks: Locks): Promise<string[]> {
    const calls: Promise<string>[] = [];
    for (let i = 0; i < QUESTIONS; i += 1) {
      calls.push(outcomeOf(locks, world.newKey()));
      await sleep(ONCE_IN_MS);
    }
    return Promise.all(calls);
  }

  const outcomeOf = (locks: Locks, key: string, wait = 0): Promise<string> =>
    locks.acquire(key, { ttl, wait }).then(
      (lease) => lease.release().then(() => 'granted'),
      (error: { code: string; replicas?: number }) => `${error.code}, ${error.replicas} replicas`,
    );

  /** Both processes try to acquire one key again and again. Resolves with the number of each outcome. */
  async function rivals(both: readonly Locks[], wait: number): Promise<Record<string, number>> {
    const key = world.newKey();
    const counts: Record<string, number> = {};
    const tries = both.map(async (locks) => {
      for (let i = 0; i < TRIES; i += 1) {
        const outcome = await outcomeOf(locks, key, wait);
        counts[outcome] = (counts[outcome] ?? 0) + 1;
        await sleep(Math.random() * ONCE_IN_MS);
      }
    });
    await Promise.all(tries);
    return counts;
  }

  it('are refused without a replica, at any rate of attempts, and leave no key behind', async () => {
    const outcomes = await ask(await open(100));
    expect(outcomes.filter((outcome) => !outcome.startsWith('LOCK_UNAVAILABLE'))).toEqual([]);
    expect(outcomes.filter((outcome) => outcome === 'LOCK_UNAVAILABLE, 0 replicas').length).toBeGreaterThan(MOST);
    await eventually(async () => expect(await world.client.keys(`${PREFIX}*`)).toEqual([]));
  });

  it('are refused without a replica as unavailable, also while another process tries to acquire them', async () => {
    const both = await Promise.all([open(50), open(50)]);
    expect(await rivals(both, 0)).toEqual({ 'LOCK_UNAVAILABLE, 0 replicas': 2 * TRIES });
    expect(await rivals(both, 150)).toEqual({ 'LOCK_UNAVAILABLE, 0 replicas': 2 * TRIES });
  });

  it('are refused as unavailable while their holder has no replica, also to a waiting caller', async () => {
    const key = world.newKey();
    await world.locks().acquire(key, { ttl }); // on the same server, without durability
    const locks = await open(50);
    const outcomes = await Promise.all([0, 500].map((wait) => outcomeOf(locks, key, wait)));
    expect(outcomes).toEqual(['LOCK_UNAVAILABLE, 0 replicas', 'LOCK_UNAVAILABLE, 0 replicas']);
  });

  it('let an application start without a replica, also when the server has not cached the scripts', async () => {
    await world.client.script('FLUSH');
    await open(500);
  });

  it('are written to the database that the client of the application has selected', async () => {
    const client = new Redis(world.server.url);
    onCleanup(() => client.disconnect());
    await client.select(3);
    const durability = { replicas: 0, timeoutMs: 100 };
    const locks = locksOn(RedisLockStore.open(client, { prefix: PREFIX, durability }));
    onCleanup(() => locks.engine.close());
    const lease = await locks.acquire(world.newKey(), { ttl });
    expect(await client.get(PREFIX + lease.key)).toBe(lease.grant.ownerToken);
    await lease.release();
    expect(await client.get(PREFIX + lease.key)).toBeNull();
  });

  it('share the round trip to a distant replica', async () => {
    const proxy = await startFaultProxy(world.server.port);
    const replica = await startRedisServer({ config: { replicaof: `127.0.0.1 ${proxy.port}` } });
    await eventually(async () => expect(await world.client.info('replication')).toMatch(/state=online/), 20_000);
    proxy.delay(40);
    const locks = await open(500);
    // The server reports a replica as online before its first acknowledgement.
    await eventually(async () => (await locks.acquire(world.newKey(), { ttl })).release(), 20_000);
    expect((await ask(locks)).filter((outcome) => outcome === 'granted').length).toBeGreaterThan(MOST);
    await replica.stop();
  }, 60_000);

  it('are refused as unavailable while the replica does not respond, and granted when it does', async () => {
    const replica = await startRedisServer({ config: { replicaof: `127.0.0.1 ${world.server.port}` } });
    await eventually(async () => expect(await world.client.info('replication')).toMatch(/state=online/), 20_000);
    const both = await Promise.all([open(50), open(50)]);
    await eventually(async () => expect(await outcomeOf(both[0], world.newKey())).toBe('granted'), 20_000);
    replica.pause();
    expect(await rivals(both, 0)).toEqual({ 'LOCK_UNAVAILABLE, 0 replicas': 2 * TRIES });
    const waiting = outcomeOf(both[0], world.newKey(), 10_000);
    replica.resume();
    expect(await waiting).toBe('granted');
  }, 60_000);
});
