import { setTimeout as sleep } from 'node:timers/promises';

import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import type { Lease } from '../../libs/distribute-lock/src/lease/lease.js';
import type { Duration } from '../../libs/distribute-lock/src/options/values.js';
import { eventually } from '../support/eventually.js';
import type { FaultProxy } from '../support/fault-proxy.js';
import { expectBelow } from './support/bound.js';
import { PREFIX, type Locks } from './support/lock-core.js';
import { monotonicMs } from './support/monotonic.js';
import { useQuorumWorld, type QuorumWorld } from './support/use-quorum-world.js';

const SLACK_MS = 250;
const NETWORK_BACK_MS = 2_000;

/** When the first of these nodes forgets its vote. */
async function firstEnd(world: QuorumWorld, key: string, nodes: readonly number[]): Promise<number> {
  const left = await Promise.all(nodes.map((node) => world.clients[node].pttl(PREFIX + key)));
  return monotonicMs() + Math.min(...left);
}

describe('P2 on a quorum: a holder that cannot renew is told before its lease can end', () => {
  const world = useQuorumWorld();
  // 1 % of it is what a timer may be late on a busy machine before the promise breaks.
  const ttl = 6_000;

  it('when the connections to a majority are half-open', async () => {
    const nodes = [1, 2, 4];
    const proxies = await world.proxies();
    for (const proxy of proxies) proxy.delay(20);
    const process = await world.process(proxies.map(({ url }) => url));
    const key = world.newKey();
    const { lease } = await process.do('acquire', { key, ttl, wait: 5_000 });
    const told = process.do('told', { lease });
    await sleep(ttl / 2); // renewed once
    for (const node of nodes) proxies[node].hold();
    const endsAt = await firstEnd(world, key, nodes);
    const { at, held, reason } = await told;
    expect({ held, reason }).toEqual({ held: false, reason: 'LEASE_LOST' });
    expectBelow(at - endsAt, 0);
    for (const proxy of proxies) await proxy.resume();
    await eventually(async () => expect(await world.taken(key)).toBe(0), NETWORK_BACK_MS);
  });

  it('and keeps its lease while a minority is half-open', async () => {
    const proxies = await world.proxies();
    const process = await world.process(proxies.map(({ url }) => url));
    const key = world.newKey();
    const { lease } = await process.do('acquire', { key, ttl: 3_000, wait: 5_000 });
    for (const node of [0, 3]) proxies[node].hold();
    await sleep(2 * 3_000);
    expect(await process.do('isHeld', { lease })).toMatchObject({ held: true });
    await process.do('release', { lease });
    for (const proxy of proxies) await proxy.resume();
    await eventually(async () => expect(await world.taken(key)).toBe(0), NETWORK_BACK_MS);
  });
});

describe('P4 on a quorum: votes that are lost', () => {
  const world = useQuorumWorld();
  const ttl = 3_000;

  /** A lease with the votes of all nodes: three are enough for the grant, and one that comes later would still count. */
  async function unanimous(options: { ttl: Duration }): Promise<{ locks: Locks; lease: Lease }> {
    const locks = world.locks();
    const lease = await locks.acquire(world.newKey(), { ...options, wait: '5s' });
    await eventually(async () => expect(await world.taken(lease.key)).toBe(5));
    return { locks, lease };
  }

  it('on a majority end the lease with the next renewal, and are never made again', async () => {
    const { lease } = await unanimous({ ttl });
    let toldAt = Infinity;
    lease.signal.addEventListener('abort', () => (toldAt = monotonicMs()));
    await Promise.all([0, 1, 2].map((node) => world.clients[node].flushall()));
    const lostAt = monotonicMs();
    await eventually(() => expect(lease.signal.aborted).toBe(true));
    expectBelow(toldAt - lostAt, ttl / 3 + SLACK_MS);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    await eventually(async () => expect(await world.taken(lease.key)).toBe(0), NETWORK_BACK_MS);
  });

  it('on a minority cost nothing, and are had again behind the next renewal', async () => {
    const { lease } = await unanimous({ ttl });
    for (const node of [0, 1]) await world.clients[node].flushall();
    await eventually(async () => expect(await world.taken(lease.key, [0, 1])).toBe(2), ttl);
    expect(lease.isHeld()).toBe(true);
    await expect(world.locks().acquire(lease.key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lease.release();
    expect(await world.taken(lease.key)).toBe(0);
  });

  it('on a minority cost nothing when another vote came late', async () => {
    const proxies = await world.proxies();
    const locks = world.locks(proxies.map(({ url }) => url));
    await (await locks.acquire(world.newKey(), { wait: '5s' })).release();
    for (const node of [1, 2]) proxies[node].hold();
    const lease = await locks.acquire(world.newKey(), { ttl: '20s' });
    expect(await world.taken(lease.key)).toBe(3);
    for (const node of [1, 2]) await proxies[node].resume();
    await eventually(async () => expect(await world.taken(lease.key)).toBe(5));
    for (const node of [3, 4]) await world.clients[node].flushall();
    await lease.extend('30s');
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    await eventually(async () => expect(await world.taken(lease.key)).toBe(0), NETWORK_BACK_MS);
  });

  it('are told by the release, too', async () => {
    const { locks, lease } = await unanimous({ ttl: '20s' });
    for (const node of [2, 3, 4]) await world.clients[node].del(PREFIX + lease.key);
    await lease.release();
    // A release does not keep its caller for longer than 100 ms; on a busy machine it is answered behind.
    await eventually(() => expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' }));
    expect(locks.events.map(({ type }) => type)).toContain('lost');
  });
});

describe('P4 on a quorum: votes that come later', () => {
  const world = useQuorumWorld();
  const ttl = 2_000;

  /** Two of five nodes are somebody else's when the lock is granted. */
  async function withThree(locks: Locks): Promise<Lease> {
    await (await locks.acquire(world.newKey(), { wait: '5s' })).release(); // connected
    const key = world.newKey();
    for (const node of [3, 4]) await world.clients[node].set(PREFIX + key, 'x', 'PX', 500);
    const lease = await locks.acquire(key, { ttl });
    await eventually(async () => expect(await world.taken(key, [3, 4])).toBe(0));
    return lease;
  }

  it('are taken back when the lock is released before they are answered', async () => {
    const proxies = await world.proxies();
    const lease = await withThree(world.locks(proxies.map(({ url }) => url)));
    for (const node of [3, 4]) proxies[node].hold('toClient');
    await lease.extend('20s');
    await eventually(async () => expect(await world.taken(lease.key)).toBe(5));
    for (const node of [3, 4]) {
      proxies[node].refuse();
      proxies[node].cut();
    }
    await lease.release();
    expect(await world.taken(lease.key, [3, 4])).toBe(2);
    for (const proxy of proxies) await proxy.resume();
    await eventually(async () => expect(await world.taken(lease.key)).toBe(0), NETWORK_BACK_MS);
  });

  it('count like those of the grant: one after the other, every node may restart without its data', async () => {
    const lease = await world.locks().acquire(world.newKey(), { ttl, wait: '5s' });
    for (const [node, server] of world.servers.entries()) {
      await server.restart({ empty: true });
      await eventually(async () => expect(await world.taken(lease.key, [node])).toBe(1));
      await sleep(ttl);
    }
    expect(lease.isHeld()).toBe(true);
    const { fencingToken } = lease;
    await lease.release();
    for (const client of world.clients)
      expect(Number(await client.get(new RedisKeys(PREFIX).fenceOf(PREFIX + lease.key)))).toBeGreaterThanOrEqual(
        fencingToken,
      );
  });

  it('count like those of the grant: one of the nodes that gave these may die', async () => {
    const lease = await withThree(world.locks());
    await eventually(async () => expect(await world.taken(lease.key)).toBe(5));
    await sleep(ttl);
    await world.servers[0].kill();
    await sleep(2 * ttl);
    expect(lease.isHeld()).toBe(true);
    await lease.release();
  });
});

describe('P6 on a quorum: a network that is mute for a majority', () => {
  const world = useQuorumWorld();

  /** A majority is enough to be connected; here every node is to be asked. */
  async function connectedToAll(proxies: readonly FaultProxy[]): Promise<Locks> {
    const locks = world.locks(proxies.map(({ url }) => url));
    const lease = await locks.acquire(world.newKey(), { wait: '5s' });
    await eventually(async () => expect(await world.taken(lease.key)).toBe(5));
    await lease.release();
    return locks;
  }

  it.each(['toClient', 'toServer'] as const)(
    '%s leaves nothing behind, on the nodes that answered too late',
    async (way) => {
      const proxies = await world.proxies();
      const locks = await connectedToAll(proxies);
      const key = world.newKey();
      for (const node of [0, 2, 3]) proxies[node].hold(way);
      await expect(locks.acquire(key, { ttl: '30s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      const backAt = monotonicMs();
      for (const proxy of proxies) await proxy.resume();
      await eventually(async () => expect(await world.taken(key)).toBe(0));
      expectBelow(monotonicMs() - backAt, NETWORK_BACK_MS);
      await sleep(200); // what came late has been taken back for good
      expect(await world.taken(key)).toBe(0);
    },
  );

  it('when the connections broke before anything could be undone', async () => {
    const nodes = [0, 2, 3];
    const proxies = await world.proxies();
    const locks = await connectedToAll(proxies);
    const key = world.newKey();
    for (const node of nodes) proxies[node].hold('toClient');
    const acquired = expect(locks.acquire(key, { ttl: '30s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await eventually(async () => expect(await world.taken(key)).toBe(5));
    for (const node of nodes) {
      proxies[node].refuse();
      proxies[node].cut();
    }
    await acquired;
    await sleep(2_000); // by then the first undo has been given up
    expect(await world.taken(key, nodes)).toBe(3);
    const backAt = monotonicMs();
    for (const proxy of proxies) await proxy.resume();
    await eventually(async () => expect(await world.taken(key)).toBe(0));
    expectBelow(monotonicMs() - backAt, NETWORK_BACK_MS);
  });

  it('when its caller went while the votes were under way', async () => {
    const proxies = await world.proxies();
    const locks = await connectedToAll(proxies);
    const key = world.newKey();
    for (const proxy of proxies) proxy.hold('toClient');
    const abort = new AbortController();
    const acquired = expect(locks.acquire(key, { ttl: '30s', signal: abort.signal })).rejects.toMatchObject({
      code: 'LOCK_ABORTED',
    });
    await eventually(async () => expect(await world.taken(key)).toBe(5));
    abort.abort();
    await acquired;
    const backAt = monotonicMs();
    for (const proxy of proxies) await proxy.resume();
    await eventually(async () => expect(await world.taken(key)).toBe(0));
    expectBelow(monotonicMs() - backAt, NETWORK_BACK_MS);
  });
});
