import { setTimeout as sleep } from 'node:timers/promises';

import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { PREFIX } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

describe('a server that is full (maxmemory, noeviction)', () => {
  const world = useLockWorld({ config: { 'maxmemory-policy': 'noeviction' } });

  it('refuses new locks at once, while releases and renewals succeed', async () => {
    const ttlMs = 1_500;
    const [alice, bob] = [world.locks(), world.locks()];
    const [kept, free] = [world.newKey(), world.newKey()];
    const lease = await alice.acquire(kept, { ttl: ttlMs });
    await world.client.config('SET', 'maxmemory', '1mb');

    const calledAt = monotonicMs();
    await expect(bob.acquire(free, { wait: '10s' })).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      message: expect.stringContaining('OOM') as string,
    });
    expectBelow(monotonicMs() - calledAt, 500);
    expect(await world.keysOf(free)).toEqual([]);

    await sleep(2 * ttlMs); // longer than the ttl: without a renewal the lease would have ended
    expect(lease.isHeld()).toBe(true);
    expect(await world.client.pttl(PREFIX + kept)).toBeGreaterThan(ttlMs / 3);
    await lease.release();
    expect(await world.keysOf(kept)).toEqual([]);
    await world.client.config('SET', 'maxmemory', '0');
    await (await bob.acquire(free)).release();
  });

  it('lets a waiter claim the lock that is offered to it', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    const lease = await alice.acquire(key);
    const waiting = bob.acquire(key, { wait: '10s' });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    // After this wait the message does not prove the offer, so the waiter has to claim it.
    await sleep(2_000);
    await world.client.config('SET', 'maxmemory', '1mb');
    await lease.release();
    const next = await waiting;
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    await next.release();
    await world.client.config('SET', 'maxmemory', '0');
  });
});

describe('a server whose scripts are flushed repeatedly', () => {
  const world = useLockWorld();

  it('serves all callers', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const key = world.newKey();
    let flushing = true;
    const flushes = (async () => {
      while (flushing) {
        await world.client.script('FLUSH');
        await sleep(1);
      }
    })();
    const loop = async (locks: typeof alice): Promise<void> => {
      for (let i = 0; i < 50; i += 1) await (await locks.acquire(key, { wait: '10s' })).release();
    };
    await Promise.all([loop(alice), loop(alice), loop(bob), loop(bob)]);
    flushing = false;
    await flushes;
    expect(await world.keysOf(key)).toEqual([]);
  });
});

describe('a server that is stopped for 3 s and resumed', () => {
  const world = useLockWorld();

  it('keeps the lease with the longer ttl, ends the one with the shorter ttl, and serves the waiters', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const [long, short, fresh] = [world.newKey(), world.newKey(), world.newKey()];
    const patient = await alice.acquire(long, { ttl: '10s' });
    const hasty = await alice.acquire(short, { ttl: 1_500 });
    const waiting = bob.acquire(long, { wait: '20s' });
    await eventually(async () => expect(await world.waiting(long)).toBe(1));

    world.server.pause();
    const pausedAt = monotonicMs();
    await expect(bob.acquire(fresh)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expectBelow(monotonicMs() - pausedAt, 1_000);
    await eventually(() => expect(hasty.signal.aborted).toBe(true));
    expectBelow(monotonicMs() - pausedAt, 1_500 + 250);
    await sleep(3_000 - (monotonicMs() - pausedAt));
    world.server.resume();

    expect(patient.isHeld()).toBe(true);
    await patient.release();
    await (await waiting).release();
    await eventually(async () => expect(await world.keysOf(fresh)).toEqual([]), 2_000);
    await eventually(async () => (await bob.acquire(fresh)).release(), 2_000);
  });
});

describe('10,000 keys', () => {
  const world = useLockWorld();

  it('are waited for over one subscription per process, and all are served', async () => {
    const [alice, bob] = [world.locks(), world.locks()];
    const keys = Array.from({ length: 10_000 }, () => world.newKey());
    const leases: Lease[] = [];
    for (let i = 0; i < keys.length; i += 500) {
      leases.push(...(await Promise.all(keys.slice(i, i + 500).map((key) => alice.acquire(key, { ttl: '60s' })))));
    }
    const waits = keys.map((key) => bob.acquire(key, { ttl: '60s', wait: '2m' }));
    await eventually(async () => expect(await world.waiting(keys.at(-1)!)).toBe(1), 40_000);
    // This includes the subscription of Alice, a holder: under this many commands it may have been delayed.
    const channels = () => world.client.pubsub('CHANNELS', 'nestjs-lock:*');
    await eventually(async () => expect(await channels()).toHaveLength(2), 10_000);
    await Promise.all(leases.map((lease) => lease.release()));
    const granted = await Promise.all(waits);
    await Promise.all(granted.map((lease) => lease.release()));
    // Under load a release may return before its reply. The counter and the records of the processes stay for some time.
    const left = async () => (await world.client.keys('*')).filter((key) => !key.startsWith('p1:'));
    await eventually(async () => expect(await left()).toHaveLength(1));
  }, 120_000);
});
