import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { PREFIX, type Locks } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { useQuorumWorld, type QuorumWorld } from './support/use-quorum-world.js';

const SLACK_MS = 250;
const ALL = [0, 1, 2, 3, 4];

/** A client that reaches only these nodes: the addresses of the others refuse connections. */
function reaching(world: QuorumWorld, nodes: readonly number[]): Locks {
  return world.locks(world.urls.map((url, node) => (nodes.includes(node) ? url : `redis://127.0.0.${node + 2}:1`)));
}

describe('P11 on a quorum: fencing tokens rise', () => {
  const world = useQuorumWorld();

  it('for any majority, after FLUSHALL on all nodes, and after a restart of all without data', async () => {
    const majorities = [
      [0, 1, 2],
      [2, 3, 4],
      [0, 3, 4],
      [1, 2, 3],
      [0, 1, 4],
    ].map((nodes) => reaching(world, nodes));
    const key = world.newKey();
    const tokens: number[] = [];
    const round = async (): Promise<void> => {
      for (const { acquire } of majorities) {
        const lease = await acquire(key, { wait: '20s' });
        tokens.push(lease.fencingToken);
        await lease.release();
      }
    };
    await round();
    await Promise.all(world.clients.map((client) => client.flushall()));
    await round();
    await Promise.all(world.servers.map((server) => server.restart()));
    await round();
    expect(tokens).toHaveLength(15);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(tokens.every(Number.isSafeInteger)).toBe(true);
  });

  it('when the clocks of the nodes are an hour apart, as long as a majority keeps its data', async () => {
    const key = world.newKey();
    const ahead = Date.now() * 1_000 + 3_600_000_000;
    // the counter of a node whose clock is an hour ahead
    await world.clients[2].set(new RedisKeys(PREFIX).fenceOf(PREFIX + key), ahead);
    const tokens: number[] = [];
    for (const nodes of [
      [0, 1, 2],
      [0, 1, 3],
      [1, 3, 4],
      [0, 3, 4],
    ]) {
      const lease = await reaching(world, nodes).acquire(key, { wait: '10s' });
      tokens.push(lease.fencingToken);
      await lease.release();
    }
    expect(tokens[0]).toBeGreaterThan(ahead);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it('for callers of one process that share a grant, and for waiters of other processes behind them', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    const tokens: number[] = [];
    await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const lease = await (i % 2 === 0 ? alice : bob).acquire(key, { wait: '20s' });
        tokens.push(lease.fencingToken);
        await lease.release();
      }),
    );
    expect(tokens).toHaveLength(100);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it('in keys that have a TTL', async () => {
    const locks = world.locks();
    const lease = await locks.acquire(world.newKey());
    await lease.release();
    for (const client of world.clients) {
      for (const name of await client.keys('*'))
        if (!name.endsWith('key-2}')) expect(await client.pttl(name)).toBeGreaterThan(0);
    }
  });
});

/** Shows for docs/safety.md what happens when a node forgets its votes, and what prevents it. */
describe('a node that is restarted within a ttl', () => {
  const ttl = 3_000;

  /** Alice holds the votes of nodes 0, 1 and 2; node 2 restarts; Bob reaches nodes 2, 3 and 4. */
  async function story(world: QuorumWorld): Promise<{ alice: Locks; bob: Locks; key: string }> {
    const [alice, bob] = [reaching(world, [0, 1, 2]), reaching(world, [2, 3, 4])];
    return { alice, bob, key: world.newKey() };
  }

  describe('without its data', () => {
    const world = useQuorumWorld();

    it('lets a second holder in; the next renewal notifies the first one, which has the smaller fencing token', async () => {
      const { alice, bob, key } = await story(world);
      const first = await alice.acquire(key, { ttl });
      await world.servers[2].restart({ empty: true });
      const second = await bob.acquire(key, { ttl, wait: 1_000 });
      const grantedAt = monotonicMs();
      expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
      await eventually(() => expect(first.signal.aborted).toBe(true));
      expectBelow(monotonicMs() - grantedAt, ttl + SLACK_MS);
      expect(first.signal.reason).toMatchObject({ code: 'LEASE_LOST', fencingToken: first.fencingToken });
      expect(second.isHeld()).toBe(true);
      await second.release();
    });
  });

  describe('without its data, but not before the longest ttl has passed', () => {
    const world = useQuorumWorld();

    it('keeps all others out beside the first holder', async () => {
      const { alice, bob, key } = await story(world);
      const first = await alice.acquire(key, { ttl });
      await world.servers[2].kill();
      // Alice cannot reach a majority without node 2, so her lease expires.
      await eventually(() => expect(first.isHeld()).toBe(false));
      await expect(bob.acquire(key)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      await world.servers[2].restart({ empty: true });
      await (await bob.acquire(key, { wait: '5s' })).release();
    });
  });

  describe('with all of its replies on disk (appendfsync always)', () => {
    const world = useQuorumWorld(5, { config: { appendonly: 'yes', appendfsync: 'always' } });

    it('keeps all others out beside the first holder, which keeps its lease', async () => {
      const { alice, bob, key } = await story(world);
      const first = await alice.acquire(key, { ttl });
      await world.servers[2].kill();
      await world.servers[2].start();
      await expect(bob.acquire(key, { wait: 500 })).rejects.toMatchObject({
        code: expect.stringMatching(/LOCK_/) as string,
      });
      expect(await world.taken(key, [2])).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, ttl));
      expect(first.isHeld()).toBe(true);
      await first.release();
      expect(await world.taken(key, ALL)).toBe(0);
    });
  });
});
