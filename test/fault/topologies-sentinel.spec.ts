import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { startSentinelTopology, type SentinelTopology } from '../support/redis-sentinels.js';
import { expectBelow } from './support/bound.js';
import { locksOn, PREFIX, type Locks } from './support/lock-engine.js';
import { LockProcess } from './support/lock-process.js';
import { monotonicMs } from '../support/monotonic.js';

let topology: SentinelTopology;
let keys = 0;
const newKey = (): string => `key-${(keys += 1)}`;
const ownerOf = (key: string) => topology.primary.run((redis) => redis.get(PREFIX + key));
const leftOf = (key: string) => topology.primary.run((redis) => redis.pttl(PREFIX + key));

// With one replica, the replica that acknowledges is the one that is promoted.
beforeAll(async () => {
  topology = await startSentinelTopology({ replicas: 1 });
}, 30_000);

/** Stops the replica and closes its connection: a resumed replica would read buffered writes. */
async function loseTheReplica(): Promise<() => void> {
  const [replica] = topology.replicas;
  replica.pause();
  await topology.primary.run((redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'replica'));
  return () => replica.resume();
}

// Each test starts with a replica in sync.
afterEach(async () => {
  const dead = topology.servers.find(({ alive }) => !alive);
  if (dead !== undefined) await topology.heal(dead);
}, 60_000);

function open({ replicas = 0, timeoutMs = 500 } = {}): Locks {
  const durability = replicas === 0 ? undefined : { replicas, timeoutMs };
  const locks = locksOn(RedisLockStore.open(topology.connection, { prefix: PREFIX, durability }));
  onCleanup(() => locks.engine.close());
  return locks;
}

describe('a failover, with a lock that a replica has acknowledged', () => {
  let [alice, bob]: Locks[] = [];
  beforeAll(() => {
    [alice, bob] = [open({ replicas: 1 }), open({ replicas: 1 })];
  });

  it.each(Array.from({ length: 10 }, (_, i) => i + 1))(
    'number %i: it survives, and the waiter gets it',
    async () => {
      const ttlMs = 25_000;
      const key = newKey();
      const waited = newKey();
      const early = await alice.acquire(waited, { ttl: ttlMs });
      const waiting = bob.acquire(waited, { ttl: ttlMs, wait: '25s' });
      const lease = await alice.acquire(key, { ttl: ttlMs });

      const old = topology.primary;
      await topology.failover();
      expect(await ownerOf(key)).toBe(lease.grant.ownerToken);

      await topology.heal(old);
      // A renewal on the new primary moves the end beyond that of the lease before.
      await eventually(async () => expect(await leftOf(key)).toBeGreaterThan(ttlMs / 2), ttlMs);
      expect([lease.isHeld(), early.isHeld()]).toEqual([true, true]);
      await early.release();
      const releasedAt = monotonicMs();
      const late = await waiting;
      expectBelow(monotonicMs() - releasedAt, 2_500);
      expect(late.fencingToken).toBeGreaterThan(early.fencingToken);
      await Promise.all([lease.release(), late.release()]);
      await eventually(async () => expect(await ownerOf(key)).toBeNull());
    },
    60_000,
  );
});

describe('a failover that loses the lock', () => {
  it('notifies the holder within a third of the ttl and 1 s of the promotion', async () => {
    const ttlMs = 3_000;
    const alice = open();
    await alice.engine.connect();
    const key = newKey();
    const resume = await loseTheReplica();
    const lease = await alice.acquire(key, { ttl: ttlMs });
    let notifiedAt = Infinity;
    lease.signal.addEventListener('abort', () => (notifiedAt = monotonicMs()));
    await topology.failover(async (old) => {
      await old.kill();
      resume();
    });
    const promotedAt = monotonicMs();
    await eventually(() => expect(lease.signal.aborted).toBe(true));
    expectBelow(notifiedAt - promotedAt, ttlMs / 3 + 1_000);
    expect(lease.isHeld()).toBe(false);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    expect(await ownerOf(key)).toBeNull();
  });

  it('notifies also a holder whose lease would last much longer', async () => {
    const ttlMs = 12_000;
    const alice = open();
    await alice.engine.connect();
    const resume = await loseTheReplica();
    const lease = await alice.acquire(newKey(), { ttl: ttlMs });
    await topology.failover(async (old) => {
      await old.kill();
      resume();
    });
    const promotedAt = monotonicMs();
    await eventually(() => expect(lease.signal.aborted).toBe(true), ttlMs);
    expectBelow(monotonicMs() - promotedAt, ttlMs / 3 + 1_000);
  });
});

describe('too few replicas', () => {
  it.each([0, 1_000])(
    'refuse the lock, report how many acknowledged it, and leave no key behind (wait %i ms)',
    async (wait) => {
      const locks = open({ replicas: 1, timeoutMs: 100 });
      await locks.engine.connect();
      const key = newKey();
      const resume = await loseTheReplica();
      const startedAt = monotonicMs();
      const refused = await locks.acquire(key, { wait }).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'LOCK_UNAVAILABLE', replicas: 0 });
      expectBelow(monotonicMs() - startedAt, wait + 1_000);
      await eventually(async () => expect(await ownerOf(key)).toBeNull(), 2_000);
      resume();
      await topology.inStep();
      await (await eventually(() => locks.acquire(key))).release();
    },
  );

  it('only delay a caller that can wait until they are back', async () => {
    const locks = open({ replicas: 1, timeoutMs: 100 });
    await locks.engine.connect();
    const resume = await loseTheReplica();
    const waiting = locks.acquire(newKey(), { wait: '20s' });
    setTimeout(resume, 500);
    await (await waiting).release();
    await topology.inStep();
  });
});

describe('a primary that was demoted and still replies', () => {
  it('is replaced by the new one: held locks are renewed there', async () => {
    const ttlMs = 6_000;
    const alice = open({ replicas: 1 });
    const key = newKey();
    const lease = await alice.acquire(key, { ttl: ttlMs });
    await topology.switchOver();
    const promotedAt = monotonicMs();
    await eventually(async () => expect(await leftOf(key)).toBeGreaterThan(ttlMs - 500), ttlMs);
    expect(lease.isHeld()).toBe(true);
    expect(await ownerOf(key)).toBe(lease.grant.ownerToken);
    expectBelow(monotonicMs() - promotedAt, ttlMs);
    await lease.release();
  }, 120_000);
});

describe('a Sentinel that is down', () => {
  it('does not affect callers, and writes no line to the console', async () => {
    await topology.sentinels[2].kill();
    const process = await LockProcess.start(topology.connection);
    await process.do('release', await process.do('acquire', { key: newKey(), wait: 5_000 }));
    await topology.primary.run((redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
    await process.do('release', await process.do('acquire', { key: newKey(), wait: 5_000 }));
    await new Promise((resolve) => setTimeout(resolve, 200)); // a wrong line would be written with the connections
    expect({ output: process.output, trouble: process.trouble }).toEqual({ output: '', trouble: [] });
    await topology.sentinels[2].start();
  });
});
