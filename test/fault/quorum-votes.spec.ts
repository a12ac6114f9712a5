import { setTimeout as sleep } from 'node:timers/promises';

import { isLockError, type LockUnavailableError } from '../../libs/distribute-lock/src/errors.js';
import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { expectBelow } from './support/bound.js';
import { PREFIX, type Locks } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { connectedToAll, useQuorumWorld } from './support/use-quorum-world.js';

const GRANT_MS = 2_000;
const REFUSAL_MS = 3_000;
const NETWORK_BACK_MS = 2_000;

async function unavailable(locks: Locks, key: string, options: AcquireOptions = {}): Promise<LockUnavailableError> {
  const [result] = await Promise.allSettled([locks.acquire(key, options)]);
  if (result.status === 'fulfilled') throw new Error('granted');
  if (isLockError(result.reason, 'LOCK_UNAVAILABLE')) return result.reason;
  throw result.reason;
}

describe('A quorum grants by majority', () => {
  const world = useQuorumWorld();
  const subsets = Array.from({ length: 32 }, (_, bits) => [0, 1, 2, 3, 4].filter((node) => bits & (1 << node)));

  const owners: Record<string, (node: number) => string> = {
    'one foreign holder': () => 'x',
    'a different owner on every node': (node) => `${String(node).repeat(22)}:1`,
  };
  it.each(Object.entries(owners))('for each subset of 5 nodes that is taken by %s', async (_, ownerAt) => {
    const locks = world.locks();
    for (const taken of subsets) {
      const key = world.newKey();
      await Promise.all(taken.map((node) => world.clients[node].set(PREFIX + key, ownerAt(node), 'PX', 60_000)));
      const [result] = await Promise.allSettled([locks.acquire(key)]);
      if (taken.length <= 2) {
        if (result.status === 'rejected') throw result.reason;
        await eventually(async () => expect(await world.taken(key)).toBe(5)); // three votes suffice for the grant
        await result.value.release();
      } else expect(result).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_CONTENDED' } });
      const free = [0, 1, 2, 3, 4].filter((node) => !taken.includes(node));
      await eventually(async () => expect(await world.taken(key, free)).toBe(0), NETWORK_BACK_MS);
      expect(await world.taken(key, taken)).toBe(taken.length);
    }
  });

  it('to one of many callers that ask at the same time with wait 0', async () => {
    const crowd = Array.from({ length: 4 }, () => world.locks());
    await Promise.all(crowd.map(({ engine }) => engine.connect()));
    for (let round = 0; round < 20; round += 1) {
      const key = world.newKey();
      const results = await Promise.allSettled(crowd.map((locks) => locks.acquire(key)));
      const granted = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(granted).toHaveLength(1);
      await granted[0].release();
    }
  });

  it('and counts a server under two names once', async () => {
    const [one, other, gone] = await Promise.all([startRedisServer(), startRedisServer(), startRedisServer()]);
    await gone.kill();
    const name = (host: string, port: number): string => `redis://${host}:${port}`;
    const twins = [name('127.0.0.1', one.port), name('127.0.0.2', one.port)];
    await one.run((redis) => redis.config('SET', 'bind', '127.0.0.1 127.0.0.2'));
    const booting = world.locks([...twins, other.url]).engine.connect();
    await expect(booting).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
    // The start did not reach all nodes; still, two names have one vote.
    const locks = world.locks([...twins, gone.url]);
    const { votes, message } = await unavailable(locks, world.newKey());
    expect(votes).toMatchObject({ nodes: 3, needed: 2, granted: 1 });
    expect(message).toContain('the same Redis');
  });

  it('and to a caller whose replies were lost, once it asks again', async () => {
    const proxies = await world.proxies();
    const locks = await connectedToAll(world, proxies);
    const swallowed = proxies.slice(0, 3).map((proxy) => proxy.swallowNextReply(/evalsha/i));
    const startedAt = monotonicMs();
    const lease = await locks.acquire(world.newKey(), { wait: '5s' });
    expectBelow(monotonicMs() - startedAt, 1_000);
    await Promise.all(swallowed);
    await lease.release();
    await eventually(async () => expect(await world.taken(lease.key)).toBe(0), NETWORK_BACK_MS);
  });
});

describe('A quorum whose nodes are slow', () => {
  const world = useQuorumWorld();

  it('refuses callers that cannot wait for them, with a short ttl, and grants to others', async () => {
    const proxies = await world.proxies();
    const locks = await connectedToAll(world, proxies);
    for (const proxy of proxies) proxy.delay(50);
    const { message } = await unavailable(locks, world.newKey(), { ttl: 500 });
    expect(message).toContain('did not respond within 50 ms');
    // The nodes have not replied to the previous command yet.
    const lease = await locks.acquire(world.newKey(), { ttl: '30s' });
    await lease.release();
  });

  it('is not mistaken for a lock with a holder, when the nodes vote and then stop responding', async () => {
    const proxies = await world.proxies();
    const locks = await connectedToAll(world, proxies);
    for (const proxy of proxies) proxy.hold('toClient');
    const key = world.newKey();
    const refused = unavailable(locks, key, { ttl: '30s' });
    await eventually(async () => expect(await world.taken(key)).toBe(5));
    // The votes arrive, the fencing token does not. All in one turn, so that no reply is read in between.
    for (const proxy of proxies) {
      void proxy.resume();
      proxy.hold('toServer');
    }
    expect((await refused).message).toMatch(
      / [45] failed or did not respond \(3 required\).* did not respond within \d+ ms/,
    );
    for (const proxy of proxies) await proxy.resume();
    await eventually(async () => expect(await world.taken(key)).toBe(0), NETWORK_BACK_MS);
  });
});

describe('P16: a quorum with one dead and one unresponsive node', () => {
  const world = useQuorumWorld();
  let connected: Locks;
  beforeAll(async () => {
    connected = await connectedToAll(world);
    await world.servers[0].kill();
    world.servers[1].pause();
  });
  afterAll(() => world.servers[1].resume());
  const alive = [2, 3, 4];

  it.each([
    ['a process that was connected before', () => connected],
    ['a process that starts now', () => world.locks()],
  ])('grants to %s', async (_, open) => {
    const startedAt = monotonicMs();
    const locks = open();
    await locks.engine.connect();
    const key = world.newKey();
    const lease = await locks.acquire(key, { ttl: '10s' });
    expectBelow(monotonicMs() - startedAt, GRANT_MS);
    expect(await world.taken(key, alive)).toBe(3);
    await expect(connected.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lease.extend('20s');
    await lease.release();
    await eventually(async () => expect(await world.taken(key, alive)).toBe(0), 500);
  });

  it('serves waiters', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    const turns: number[] = [];
    const loop = async ({ acquire }: Locks): Promise<void> => {
      for (let i = 0; i < 10; i += 1) {
        const calledAt = monotonicMs();
        const lease = await acquire(key, { wait: '20s', ttl: '10s' });
        turns.push(monotonicMs() - calledAt);
        await sleep(5);
        await lease.release();
      }
    };
    await Promise.all([loop(alice), loop(alice), loop(bob), loop(bob)]);
    expectBelow(Math.max(...turns), GRANT_MS);
  });

  it('leaves no key on the unresponsive node when it responds again', async () => {
    world.servers[1].resume();
    await eventually(async () => expect(await world.clients[1].keys('lock:*')).toEqual([]), NETWORK_BACK_MS);
    world.servers[1].pause();
  });
});

describe('P16: a quorum without a majority', () => {
  const world = useQuorumWorld();
  beforeAll(async () => {
    await world.servers[0].kill();
    await world.servers[1].kill();
    world.servers[2].pause();
  });
  const alive = [3, 4];

  it.each([0, 100, 1_500])('refuses with a wait of %i ms, and undoes the minority', async (wait) => {
    const key = world.newKey();
    const startedAt = monotonicMs();
    const { votes } = await unavailable(world.locks(), key, { wait, ttl: '30s' });
    expectBelow(monotonicMs() - startedAt, REFUSAL_MS);
    expect(votes).toEqual({ nodes: 5, needed: 3, granted: 2, refused: 0, failed: 3 });
    await eventually(
      async () => expect(await world.taken(key, alive)).toBe(0),
      REFUSAL_MS - (monotonicMs() - startedAt),
    );
  });

  it('grants again as soon as there is a majority', async () => {
    const locks = world.locks();
    const key = world.newKey();
    const waiting = locks.acquire(key, { wait: '10s' });
    await sleep(500);
    world.servers[2].resume();
    const resumedAt = monotonicMs();
    await (await waiting).release();
    expectBelow(monotonicMs() - resumedAt, 2_000);
    await eventually(async () => expect(await world.taken(key, [2, ...alive])).toBe(0), NETWORK_BACK_MS);
  });
});
