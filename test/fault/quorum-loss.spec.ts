import { setTimeout as sleep } from 'node:timers/promises';

import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import type { Duration } from '../../libs/distribute-lock/src/options/values.js';
import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { PREFIX, type Locks } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { connectedToAll, useQuorumWorld, type QuorumWorld } from './support/use-quorum-world.js';

const SLACK_MS = 250;
const NETWORK_BACK_MS = 2_000;

/** When the first of these nodes forgets its vote, on the monotonic clock. */
async function firstEnd(world: QuorumWorld, key: string, nodes: readonly number[]): Promise<number> {
  const left = await Promise.all(nodes.map((node) => world.clients[node].pttl(PREFIX + key)));
  return monotonicMs() + Math.min(...left);
}

describe('P2 on a quorum: a holder that cannot renew is notified before its lease can end', () => {
  const world = useQuorumWorld();
  // The safety margin is 1 % of the ttl; a timer on a busy machine must not be later than that.
  const ttl = 6_000;

  it('when the connections to a majority are half-open', async () => {
    const nodes = [1, 2, 4];
    const proxies = await world.proxies();
    for (const proxy of proxies) proxy.delay(20);
    const process = await world.process(proxies.map(({ url }) => url));
    const key = world.newKey();
    const { lease } = await process.do('acquire', { key, ttl, wait: 5_000 });
    const loss = process.do('loss', { lease });
    await sleep(ttl / 2); // renewed once
    for (const node of nodes) proxies[node].hold();
    const endsAt = await firstEnd(world, key, nodes);
    const { at, held, reason } = await loss;
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

describe('P4 on a quorum: lost votes', () => {
  const world = useQuorumWorld();
  const ttl = 3_000;
  const opened: Locks[] = [];
  const open = (urls?: readonly string[]): Locks => {
    const locks = world.locks(urls);
    opened.push(locks);
    return locks;
  };

  // Each test begins with nodes that no process knows.
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(({ engine }) => engine.close()));
    await Promise.all(world.clients.map((client) => client.flushall()));
  });

  /** Returns a lease with the votes of all nodes. Three votes suffice for the grant; later votes would still count. */
  async function unanimous(options: { ttl: Duration }): Promise<{ locks: Locks; lease: Lease }> {
    const locks = open();
    const lease = await locks.acquire(world.newKey(), { ...options, wait: '5s' });
    await eventually(async () => expect(await world.taken(lease.key)).toBe(5));
    return { locks, lease };
  }

  it('on a majority end the lease with the next renewal, and are never restored', async () => {
    const { lease } = await unanimous({ ttl });
    let notifiedAt = Infinity;
    lease.signal.addEventListener('abort', () => (notifiedAt = monotonicMs()));
    await Promise.all([0, 1, 2].map((node) => world.clients[node].flushall()));
    const lostAt = monotonicMs();
    await eventually(() => expect(lease.signal.aborted).toBe(true));
    expectBelow(notifiedAt - lostAt, ttl / 3 + SLACK_MS);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    await eventually(async () => expect(await world.taken(lease.key)).toBe(0), NETWORK_BACK_MS);
  });

  it('on a minority have no effect, and are restored after the next renewal', async () => {
    const { lease } = await unanimous({ ttl });
    for (const node of [0, 1]) await world.clients[node].flushall();
    await eventually(async () => expect(await world.taken(lease.key, [0, 1])).toBe(2), ttl);
    expect(lease.isHeld()).toBe(true);
    await expect(open().acquire(lease.key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lease.release();
    expect(await world.taken(lease.key)).toBe(0);
  });

  it('on a minority have no effect when another vote arrived late', async () => {
    const proxies = await world.proxies();
    const locks = await connectedToAll(world, proxies);
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

  it('are also detected by the release', async () => {
    const { locks, lease } = await unanimous({ ttl: '20s' });
    for (const node of [2, 3, 4]) await world.clients[node].del(PREFIX + lease.key);
    await lease.release();
    // A release waits 100 ms at most; on a busy machine its reply may arrive later.
    await eventually(() => expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' }));
    expect(locks.events.map(({ type }) => type)).toContain('lost');
  });
});

describe('P4 on a quorum: votes that arrive later', () => {
  const world = useQuorumWorld();
  const ttl = 2_000;

  /** Returns a lease with three votes: another owner has the other two of five nodes at the time of the grant. */
  async function withThree(locks: Locks): Promise<Lease> {
    await (await locks.acquire(world.newKey(), { wait: '5s' })).release(); // connects
    const key = world.newKey();
    for (const node of [3, 4]) await world.clients[node].set(PREFIX + key, 'x', 'PX', 500);
    const lease = await locks.acquire(key, { ttl });
    await eventually(async () => expect(await world.taken(key, [3, 4])).toBe(0));
    return lease;
  }

  it('are undone when the lock is released before the nodes reply', async () => {
    const proxies = await world.proxies();
    const lease = await withThree(world.locks(proxies.map(({ url }) => url)));
    for (const node of [3, 4]) proxies[node].hold('toClient');
    await lease.extend('20s');
    await eventually(async () => expect(await world.taken(lease.key)).toBe(5));
    for (const node of [3, 4]) {
      proxies[node].goDown();
    }
    await lease.release();
    expect(await world.taken(lease.key, [3, 4])).toBe(2);
    for (const proxy of proxies) await proxy.resume();
    await eventually(async () => expect(await world.taken(lease.key)).toBe(0), NETWORK_BACK_MS);
  });

  it('count like those of the grant: one after the other, each node may restart without its data', async () => {
    const lease = await world.locks().acquire(world.newKey(), { ttl, wait: '5s' });
    await eventually(async () => expect(await world.taken(lease.key)).toBe(5));
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

describe('P6 on a quorum: a majority that does not respond', () => {
  const world = useQuorumWorld();

  it.each(['toClient', 'toServer'] as const)(
    '%s leaves no key behind on the nodes that replied too late',
    async (way) => {
      const proxies = await world.proxies();
      const locks = await connectedToAll(world, proxies);
      const key = world.newKey();
      for (const node of [0, 2, 3]) proxies[node].hold(way);
      await expect(locks.acquire(key, { ttl: '30s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      const backAt = monotonicMs();
      for (const proxy of proxies) await proxy.resume();
      await eventually(async () => expect(await world.taken(key)).toBe(0));
      expectBelow(monotonicMs() - backAt, NETWORK_BACK_MS);
      await sleep(200); // late executions have been undone by then
      expect(await world.taken(key)).toBe(0);
    },
  );

  it('leaves no key behind when the connections broke before the undo', async () => {
    const nodes = [0, 2, 3];
    const proxies = await world.proxies();
    const locks = await connectedToAll(world, proxies);
    const key = world.newKey();
    for (const node of nodes) proxies[node].hold('toClient');
    const acquired = expect(locks.acquire(key, { ttl: '30s' })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await eventually(async () => expect(await world.taken(key)).toBe(5));
    for (const node of nodes) {
      proxies[node].goDown();
    }
    await acquired;
    await sleep(2_000); // the first undo has timed out by then
    expect(await world.taken(key, nodes)).toBe(3);
    const backAt = monotonicMs();
    for (const proxy of proxies) await proxy.resume();
    await eventually(async () => expect(await world.taken(key)).toBe(0));
    expectBelow(monotonicMs() - backAt, NETWORK_BACK_MS);
  });

  it('leaves no key behind when its caller left before the votes arrived', async () => {
    const proxies = await world.proxies();
    const locks = await connectedToAll(world, proxies);
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
