import { setTimeout as sleep } from 'node:timers/promises';

import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { fight, type FightPlan } from '../fault/support/loops.js';
import { PREFIX, type Locks } from '../fault/support/lock-engine.js';
import { useQuorumWorld, type QuorumWorld } from '../fault/support/use-quorum-world.js';
import { overlaps } from '../fault/support/witness.js';
import { eventually } from '../support/eventually.js';

const RECORD = new RedisKeys(PREFIX).members;
/** Most of the 60 s for which a node keeps the place of a node that is no longer used. */
const MOST_KEPT_MS = 59_000;
const REST_KEPT_MS = 3_500;
const REFUSED = { code: 'LOCK_CONFIGURATION', message: expect.stringContaining('Changing the nodes of a quorum') };

const urlsOf = (world: QuorumWorld, nodes: readonly number[]): string[] => nodes.map((node) => world.urls[node]);

/** Lets 60 s pass for the records of all nodes. Running processes renew their places. */
async function age(world: QuorumWorld): Promise<void> {
  for (const server of world.servers) {
    const script = `for _, m in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZINCRBY', KEYS[1], ARGV[1], m) end`;
    await server.run((redis) => redis.eval(script, 1, RECORD, -MOST_KEPT_MS)).catch(() => undefined);
  }
  await sleep(REST_KEPT_MS);
}

async function connected(world: QuorumWorld, nodes: readonly number[]): Promise<Locks> {
  const locks = world.locks(urlsOf(world, nodes));
  try {
    await locks.engine.connect();
  } catch (error) {
    await locks.engine.close();
    throw error;
  }
  return locks;
}

/** Acquires within the time in which a node is admitted after a fault. */
async function acquireAndRelease(locks: Locks, key: string): Promise<void> {
  const lease = await locks.acquire(key, { wait: '5s' });
  await lease.release();
}

async function expectExclusion(one: Locks, other: Locks, key: string): Promise<void> {
  const lease = await one.acquire(key, { wait: '2s' });
  await expect(other.acquire(key)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  await lease.release();
}

describe('A rolling deploy with another list of quorum nodes', () => {
  const world = useQuorumWorld(4);

  it('gives no second holder, and refuses the new processes at their start and at their calls', async () => {
    const oldUrls = urlsOf(world, [0, 1, 2]);
    const newUrls = urlsOf(world, [0, 1, 3]);
    const plan: FightPlan = { key: world.newKey(), callers: 3, forMs: 6_500, holdMs: 10, ttl: 3_000, wait: 1_000 };
    const running = [await world.process(oldUrls), await world.process(oldUrls)];
    const fights = running.map((process) => process.do('fight', plan));
    // This one uses the store without a connect at its start.
    fights.push(fight(world.locks(newUrls), plan));
    const starting = [connected(world, [0, 1, 3]), connected(world, [3, 1, 0]), connected(world, [0, 1, 2])];
    const starts = await Promise.allSettled(starting);
    for (const start of starts) {
      if (start.status === 'fulfilled') fights.push(fight(start.value, { ...plan, forMs: 2_000 }));
    }
    const ended = await Promise.all(fights);
    const holds = ended.flatMap((each) => each.holds);
    expect(overlaps(holds)).toEqual([]);
    expect(holds.length).toBeGreaterThan(100);
    expect(starts.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect((starts[0] as PromiseRejectedResult).reason).toMatchObject(REFUSED);
    expect(ended[2].refusals).toHaveProperty('LOCK_UNAVAILABLE');
  });
});

describe('A process with another list of quorum nodes', () => {
  const world = useQuorumWorld(5);

  it.each([
    ['one node is replaced', [0, 1, 2], [0, 1, 3]],
    ['nodes are added', [0, 1, 2], [0, 1, 2, 3, 4]],
    ['nodes are removed', [0, 1, 2, 3, 4], [2, 3, 4]],
  ])('is refused when %s', async (_, before, after) => {
    await Promise.all(world.clients.map((client) => client.flushall()));
    const old = await connected(world, before);
    await expect(connected(world, after)).rejects.toMatchObject(REFUSED);
    await acquireAndRelease(old, world.newKey());
    for (const node of before) expect(await world.clients[node].pttl(RECORD)).toBeGreaterThan(0);
    await old.engine.close();
  });

  it('is not refused when it has the same nodes in another order, with other names', async () => {
    await Promise.all(world.clients.map((client) => client.flushall()));
    const old = await connected(world, [0, 1, 2]);
    const renamed = world.locks(urlsOf(world, [2, 0, 1]).map((url) => url.replace('127.0.0.1', 'localhost')));
    await renamed.engine.connect();
    await expectExclusion(old, renamed, world.newKey());
    await Promise.all([old.engine.close(), renamed.engine.close()]);
  });

  it('gets no lock when its node was unreachable at its start', async () => {
    await Promise.all(world.clients.map((client) => client.flushall()));
    const old = await connected(world, [0, 1, 2]);
    await world.servers[3].kill();
    const other = await connected(world, [0, 1, 3]);
    // It has the votes of the nodes that both lists contain.
    await expectExclusion(old, other, world.newKey());
    await world.servers[3].start();
    await eventually(
      () =>
        expect(acquireAndRelease(other, 'late')).rejects.toMatchObject({
          code: 'LOCK_UNAVAILABLE',
          message: REFUSED.message,
        }),
      10_000,
    );
    await acquireAndRelease(old, world.newKey());
    await Promise.all([old.engine.close(), other.engine.close()]);
  });
});

describe('A node of a quorum that restarts empty', () => {
  const world = useQuorumWorld(3);

  it('votes again at once while a process runs that knew it', async () => {
    const locks = await connected(world, [0, 1, 2]);
    await world.servers[2].restart({ empty: true });
    await world.servers[1].kill();
    await acquireAndRelease(locks, world.newKey());
    await world.servers[1].restart({ empty: true });
    await eventually(async () => expect(await world.clients[1].zcard(RECORD)).toBeGreaterThanOrEqual(4));
    const other = await connected(world, [0, 1, 2]);
    await acquireAndRelease(other, world.newKey());
    await Promise.all([locks.engine.close(), other.engine.close()]);
  });

  it('does not stop processes that start later, and votes when the place of its former id is free', async () => {
    await Promise.all(world.clients.map((client) => client.flushall()));
    const before = await connected(world, [0, 1, 2]);
    await eventually(async () => {
      for (const client of world.clients) expect(await client.zcard(RECORD)).toBeGreaterThanOrEqual(4);
    });
    await before.engine.close();
    await world.servers[2].restart({ empty: true });
    const locks = await connected(world, [0, 1, 2]);
    await acquireAndRelease(locks, world.newKey());
    await age(world);
    await world.servers[1].kill();
    await acquireAndRelease(locks, world.newKey());
    await world.servers[1].start();
  });
});

describe('The procedure that replaces a node while processes run', () => {
  const world = useQuorumWorld(4);

  it('excludes old and new processes from each other, and the new node votes', async () => {
    const old = await connected(world, [0, 1, 2]);
    await acquireAndRelease(old, world.newKey());
    await world.servers[2].kill();
    await age(world);
    const replaced = await connected(world, [0, 1, 3]);
    await expectExclusion(old, replaced, world.newKey());
    await expectExclusion(replaced, old, world.newKey());
    await world.servers[1].kill();
    await acquireAndRelease(replaced, world.newKey());
    await expect(old.acquire(world.newKey())).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });
});

describe('A foreign value at the record of a quorum', () => {
  const world = useQuorumWorld(3);

  it('takes the vote of its node only, and is named when it is on a majority', async () => {
    await world.clients[0].set(RECORD, 'foreign');
    const locks = await connected(world, [0, 1, 2]);
    await acquireAndRelease(locks, world.newKey());
    await world.clients[1].set(RECORD, 'foreign');
    await expect(connected(world, [0, 1, 2])).rejects.toThrow(`Delete "${RECORD}"`);
    await world.clients[0].del(RECORD);
    await eventually(() => acquireAndRelease(locks, world.newKey()));
  });
});
