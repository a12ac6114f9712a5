import { setTimeout as sleep } from 'node:timers/promises';

import type { AcquireOptions } from '../../../libs/distribute-lock/src/options/lock-options.js';
import { eventually } from '../../support/eventually.js';
import { expectBelow } from '../support/bound.js';
import { beginLongScript } from '../support/long-script.js';
import { PREFIX } from '../support/lock-engine.js';
import { monotonicMs } from '../../support/monotonic.js';
import type { TopologyWorld } from '../support/use-topology.js';
import { outcome } from '../support/outcome.js';
import { overlaps } from '../support/witness.js';

const SLACK_MS = 250;
const NETWORK_BACK_MS = 2_000;
/** Waiting does not cure a permanent failure, so the call fails without waiting. */
const AT_ONCE_MS = 500;
/** The longest pause between two tries, and slack. */
const SERVED_WITHIN_MS = 500;
/** More than the limits of its steps together, so that a slow step is named. Sentinel takes 10 s to connect the old primary. */
const DEMOTES_WITHIN_MS = 120_000;

/** Settings of the servers for `describeDataRows`: loading takes 2 ms per key, long enough for a test to observe. */
export const SLOW_START = { 'key-load-delay': '2000', 'loading-process-events-interval-bytes': '1024' };

/** Waits for the votes of all servers: losing fewer would not end the lease. */
async function complete(world: TopologyWorld, key: string): Promise<void> {
  await eventually(async () => {
    const there = await world.onHomes(key, (redis) => redis.exists(PREFIX + key));
    expect(there).toEqual(there.map(() => 1));
  });
}

/** The "Server" rows of the fault matrix about lost and kept data. */
export function describeDataRows(world: TopologyWorld): void {
  describe('data loss', () => {
    const losses: Record<string, (key: string) => Promise<unknown>> = {
      'the key was deleted by hand': (key) => world.onHomes(key, (redis) => redis.del(PREFIX + key)),
      FLUSHALL: (key) => world.onHomes(key, (redis) => redis.flushall()),
      'another client wrote the key': (key) =>
        world.onHomes(key, (redis) => redis.set(PREFIX + key, 'somebody', 'PX', 60_000)),
    };
    it.each(Object.entries(losses))('is reported with the next renewal: %s', async (_, lose) => {
      const ttl = 3_000;
      const process = await world.process();
      const key = world.newKey();
      const granted = await process.do('acquire', { key, ttl, wait: 5_000 });
      await complete(world, key);
      await lose(key);
      const lostAt = monotonicMs();
      const loss = await process.do('loss', granted);
      expect(loss).toMatchObject({ held: false, reason: 'LEASE_LOST' });
      expectBelow(loss.at - lostAt, ttl / 3 + SLACK_MS);
    });

    it('by a restart without data is reported within the ttl, and fencing tokens continue to rise', async () => {
      const ttl = 6_000;
      const locks = world.locks();
      const lease = await locks.acquire(world.newKey(), { ttl, wait: '5s' });
      await complete(world, lease.key);
      await world.restart(lease.key, { empty: true });
      const lostAt = monotonicMs();
      await eventually(() => expect(lease.signal.aborted).toBe(true), ttl);
      expectBelow(monotonicMs() - lostAt, ttl);
      const next = await locks.acquire(lease.key, { wait: '10s' });
      expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
      await next.release();
    });
  });

  it('a restart with data loses no lock: the holder continues, and the waiter is served', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const lease = await alice.acquire(world.newKey(), { ttl: '15s', wait: '5s' });
    await complete(world, lease.key);
    const waiting = bob.acquire(lease.key, { wait: '25s' });
    await eventually(async () => expect(await world.waiting(lease.key)).toBe(1));
    await world.restart(lease.key, { empty: false });
    await eventually(() => lease.extend('20s'), 10_000);
    expect(lease.isHeld()).toBe(true);
    const releasedAt = monotonicMs();
    await lease.release();
    const next = await waiting;
    expectBelow(monotonicMs() - releasedAt, 2_500);
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    await next.release();
  });

  it('a server that is LOADING its data is waited for', async () => {
    const locks = world.locks();
    const key = world.newKey();
    await (await locks.acquire(key, { wait: '5s' })).release();
    const others = Array.from({ length: 300 }, (_, i) => [`{${PREFIX}${key}}${i}`, 'x'.repeat(100)]);
    await world.onHomes(key, (redis) => redis.mset(Object.fromEntries(others)));
    const restarted = world.restart(key, { empty: false });
    const acquired = outcome(locks, key, { wait: '15s' });
    await restarted;
    expect(await acquired).toMatchObject({ code: 'granted' });
    await world.onHomes(key, (redis) => redis.del(...others.map(([name]) => name)));
    // Later rows have 100,000 keys, which a replica would load for 200 s. Sentinel cannot promote it in this time.
    await world.onAll((redis) => redis.config('SET', 'key-load-delay', '0'));
  });
}

/** The "Server" rows of the fault matrix about servers that reply with errors or do not respond. */
export function describeServerRows(world: TopologyWorld): void {
  it('a server whose scripts are flushed repeatedly serves all callers', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    let flushing = true;
    const flushes = (async () => {
      for (; flushing; await sleep(1)) await world.onAll((redis) => redis.script('FLUSH'));
    })();
    const loop = async (locks: typeof alice): Promise<void> => {
      for (let i = 0; i < 15; i += 1) await (await locks.acquire(key, { wait: '10s' })).release();
    };
    await Promise.all([loop(alice), loop(alice), loop(bob), loop(bob)]);
    flushing = false;
    await flushes;
    await eventually(async () => expect(await world.left(key)).toBe(0), NETWORK_BACK_MS);
  });

  it('a server that is stopped for some time keeps the long lease, loses the short one, and serves waiters', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const keys = Array.from({ length: 3 }, () => world.newKey());
    const [long, short, fresh] = keys;
    const patient = await alice.acquire(long, { ttl: '10s', wait: '5s' });
    const waiting = bob.acquire(long, { wait: '20s' });
    await eventually(async () => expect(await world.waiting(long)).toBe(1));
    const hasty = await alice.acquire(short, { ttl: 500, wait: '5s' });
    for (const server of world.servers) server.pause();
    const pausedAt = monotonicMs();
    await Promise.all([
      expect(bob.acquire(fresh)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' }),
      eventually(() => expect(hasty.signal.aborted).toBe(true)),
    ]);
    expectBelow(monotonicMs() - pausedAt, 1_000);
    for (const server of world.servers) server.resume();
    expect(patient.isHeld()).toBe(true);
    await patient.release();
    const resumedAt = monotonicMs();
    await (await waiting).release();
    expectBelow(monotonicMs() - resumedAt, 2_500);
    await eventually(async () => expect(await world.left(fresh)).toBe(0), NETWORK_BACK_MS);
  });

  it('a full server refuses new locks at once, while releases and renewals succeed', async () => {
    const ttlMs = 1_500;
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await alice.acquire(key, { ttl: ttlMs, wait: '5s' });
    await bob.engine.connect();
    await world.onAll((redis) => redis.config('SET', 'maxmemory', '1mb'));
    const { code, message, tookMs } = await outcome(bob, world.newKey(), { wait: '10s' });
    expect({ code, message }).toEqual({ code: 'LOCK_UNAVAILABLE', message: expect.stringContaining('OOM') as string });
    expectBelow(tookMs, AT_ONCE_MS);
    await sleep(2 * ttlMs); // longer than the ttl: without a renewal the lease would have ended
    expect(lease.isHeld()).toBe(true);
    await lease.release();
    await eventually(async () => expect(await world.left(key)).toBe(0), NETWORK_BACK_MS);
    await world.onAll((redis) => redis.config('SET', 'maxmemory', '0'));
    await (await bob.acquire(world.newKey(), { wait: '5s' })).release();
  });

  it('a value of another type at the key, or at its queue, is refused at once, and for that key only', async () => {
    const locks = world.locks();
    const [key, queued] = [world.newKey(), world.newKey()];
    await world.onHomes(key, (redis) => redis.hset(PREFIX + key, 'a', 'b'));
    await world.onHomes(queued, (redis) => redis.set(`q1:{${PREFIX}${queued}}`, 'no queue'));
    await locks.engine.connect();
    for (const wrong of [key, queued]) {
      const { code, message, tookMs } = await outcome(locks, wrong, { wait: '20s' });
      expect(code).toBe('LOCK_UNAVAILABLE');
      expect(message).toContain('WRONGTYPE');
      expectBelow(tookMs, AT_ONCE_MS);
    }
    expect(await outcome(locks, world.newKey(), { wait: '5s' })).toMatchObject({ code: 'granted' });
    await world.onHomes(key, (redis) => redis.del(PREFIX + key));
    await world.onHomes(queued, (redis) => redis.del(`q1:{${PREFIX}${queued}}`));
  });

  it('BUSY, while another client runs a long script, is waited for', async () => {
    const locks = world.locks();
    const key = world.newKey();
    await locks.engine.connect();
    const kills = await world.onHomes(key, beginLongScript);
    const acquired = outcome(locks, key, { wait: '10s' });
    const { message } = await outcome(locks, key, { wait: 0 });
    for (const ended of await Promise.all(kills.map((kill) => kill()))) expect(ended).toContain('killed');
    expect(message).toContain('BUSY');
    expect(await acquired).toMatchObject({ code: 'granted' });
  });

  it('MISCONF, because a snapshot failed, is waited for, and is reported to a call that does not wait', async () => {
    const locks = world.locks();
    const key = world.newKey();
    await locks.engine.connect();
    const mend = await world.failSnapshots(key);
    const acquired = outcome(locks, key, { wait: '20s' });
    const { code, message, tookMs } = await outcome(locks, key, { wait: 0 });
    expect(code).toBe('LOCK_UNAVAILABLE');
    expect(message).toContain('MISCONF');
    expectBelow(tookMs, AT_ONCE_MS);
    await mend();
    const mendedAt = monotonicMs();
    expect(await acquired).toMatchObject({ code: 'granted' });
    expectBelow(monotonicMs() - mendedAt, SERVED_WITHIN_MS);
  });

  it('100,000 other keys do not slow down a lock', async () => {
    const locks = world.locks();
    const key = world.newKey();
    const fill = `for i = 1, 10000 do redis.call('SET', '{${PREFIX}${key}}other' .. ARGV[1] .. i, i, 'PX', 60000) end`;
    await (await locks.acquire(key, { wait: '5s' })).release();
    // Not in one script: a long one would stop the server.
    for (let part = 0; part < 10; part += 1) await world.onHomes(key, (redis) => redis.eval(fill, 0, `${part}-`));
    let leastMs = Infinity;
    // The keys would slow down each call; other work of the machine slows down some of them.
    for (let i = 0; i < 30; i += 1) {
      const startedAt = monotonicMs();
      await (await locks.acquire(key, { wait: '5s' })).release();
      leastMs = Math.min(leastMs, monotonicMs() - startedAt);
    }
    expectBelow(leastMs, 20);
    await world.onHomes(key, (redis) => redis.flushall());
  });

  it(
    'READONLY, from a primary that was demoted, is waited for, and the held lock is kept',
    async () => {
      const [alice, bob] = [world.locks(), world.locks()];
      const lease = await alice.acquire(world.newKey(), { ttl: '20s', wait: '5s' });
      const demoting = world.demote(lease.key);
      const acquired = outcome(bob, world.newKey(), { wait: '20s' });
      const undo = await demoting;
      await sleep(300);
      await undo();
      expect(await acquired).toMatchObject({ code: 'granted' });
      await eventually(() => lease.extend('20s'), 10_000);
      expect(lease.isHeld()).toBe(true);
      await lease.release();
      await eventually(async () => expect(await world.left(lease.key)).toBe(0), 5_000);
    },
    DEMOTES_WITHIN_MS,
  );
}

/** A planned failover: another server becomes the primary, and the connections to the old one stay open. */
export function describeFailoverRows(world: TopologyWorld): void {
  it.each<[string, AcquireOptions]>([
    ['exclusive callers', {}],
    ['strict callers', { fair: 'strict' }],
  ])(
    'a primary that is demoted while connections stay open lets no two holders overlap: %s',
    async (_, options) => {
      const key = world.newKey();
      const processes = await Promise.all([1, 2, 3].map(() => world.process()));
      const plan = { key, callers: 4, forMs: 6_000, holdMs: 3, ttl: '30s', wait: '1m', ...options } as const;
      const fights = Promise.all(processes.map((process) => process.do('fight', plan)));
      await sleep(1_500);
      const undo = await world.demote(key);
      await sleep(500);
      await undo();
      const holds = (await fights).flatMap((fight) => fight.holds);
      expect(overlaps(holds)).toEqual([]);
      expect(holds.length).toBeGreaterThan(100);
      await Promise.all(processes.map((process) => process.kill()));
    },
    DEMOTES_WITHIN_MS,
  );
}
