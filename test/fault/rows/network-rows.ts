import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../../support/eventually.js';
import { expectBelow } from '../support/bound.js';
import { startMessageEater } from '../support/message-eater.js';
import { monotonicMs } from '../../support/monotonic.js';
import { HOUR_MS, shiftedBy } from '../support/shifted-clock.js';
import { stall } from '../support/stall.js';
import type { TopologyWorld } from '../support/use-topology.js';
import { fencingTokensRise, overlaps } from '../support/witness.js';

const NETWORK_BACK_MS = 2_000;
const SAFETY_NET_MS = 2_500;
/** A release waits 100 ms at most; the rest is slack for the event loop. */
const RESULT_MS = 250;
const CODES = ['LOCK_ABORTED', 'LOCK_WAIT_TIMEOUT', 'LOCK_UNAVAILABLE'];

/** The "Network" rows of the fault matrix, for any topology. */
export function describeNetworkRows(world: TopologyWorld): void {
  describe('connections that are reset and stall at random, with delays', () => {
    it('let no two holders run at once, serve all processes, and leave no key behind', async () => {
      const network = await world.network();
      network.delay(3, 3);
      // Clocks of computers differ, so the locks must not depend on the time of day.
      const [steady, ...troubled] = await Promise.all([
        world.process(),
        world.process(network.ways, shiftedBy(HOUR_MS)),
        world.process(network.ways, shiftedBy(-HOUR_MS)),
      ]);
      const plan = { key: world.newKey(), callers: 3, forMs: 6_000, holdMs: 10, ttl: 1_000, wait: 2_000, aborts: 0.3 };
      const faults = setInterval(() => (Math.random() < 0.6 ? network.cut() : void stall(network)), 700);
      const fights = await Promise.all([steady, ...troubled].map((process) => process.do('fight', plan)));
      clearInterval(faults);
      await network.resume();
      const holds = fights.flatMap((fight) => fight.holds);
      expect(overlaps(holds)).toEqual([]);
      expect(fencingTokensRise(holds)).toBe(true);
      for (const fight of fights) {
        expect(fight.holds.length).toBeGreaterThan(5);
        for (const code of Object.keys(fight.refusals)) expect(CODES).toContain(code);
      }
      await eventually(async () => expect(await world.left(plan.key)).toBe(0), NETWORK_BACK_MS);
      expect(await world.endless()).toEqual([]);
    });
  });

  describe('a round trip that takes longer than the ttl', () => {
    it('lets no two holders run at once, and does not keep others out', async () => {
      const network = await world.network();
      const [near, far] = await Promise.all([world.process(), world.process(network.ways)]);
      network.delay(300);
      const plan = { key: world.newKey(), callers: 2, forMs: 3_000, holdMs: 40, ttl: 400, wait: 2_000 };
      const fights = await Promise.all([near, far].map((process) => process.do('fight', plan)));
      expect(overlaps(fights.flatMap((fight) => fight.holds))).toEqual([]);
      expect(fights[0].holds.length).toBeGreaterThan(5);
    });
  });

  describe('a half-open connection', () => {
    it('while holding: the holder is notified before its lease can end in Redis', async () => {
      const ttl = 6_000; // the safety margin is 1 % of it; a timer on a busy machine must not be later than that
      const network = await world.network();
      const process = await world.process(network.ways);
      network.delay(20);
      const key = world.newKey();
      const { lease } = await process.do('acquire', { key, ttl, wait: 5_000 });
      const loss = process.do('loss', { lease });
      await sleep(ttl / 2); // renewed once
      network.hold();
      const endsAt = await world.endsAt(key);
      const { at, held, reason } = await loss;
      expect({ held, reason }).toEqual({ held: false, reason: 'LEASE_LOST' });
      expectBelow(at - endsAt, 0);
      await network.resume();
      await eventually(async () => expect(await world.left(key)).toBe(0), NETWORK_BACK_MS);
    });

    it.each(['toClient', 'toServer'] as const)(
      'while acquiring (%s): the call settles, and a late execution is undone',
      async (direction) => {
        const network = await world.network();
        const locks = world.locks(network.ways);
        await locks.engine.connect();
        const keys = [world.newKey(), world.newKey()];
        network.hold(direction);
        const waits = [0, 1_000];
        await Promise.all(
          waits.map(async (wait, i) => {
            const startedAt = monotonicMs();
            await expect(locks.acquire(keys[i], { ttl: '30s', wait })).rejects.toMatchObject({
              code: 'LOCK_UNAVAILABLE',
            });
            expectBelow(monotonicMs() - startedAt, wait + 1_000);
          }),
        );
        const backAt = monotonicMs();
        await network.resume();
        await eventually(async () => expect(await Promise.all(keys.map(world.left))).toEqual([0, 0]));
        expectBelow(monotonicMs() - backAt, NETWORK_BACK_MS);
      },
    );

    it.each(['toClient', 'toServer'] as const)(
      'while releasing (%s): the call returns, and the lock is released when the network is back',
      async (direction) => {
        const network = await world.network();
        const locks = world.locks(network.ways);
        const lease = await locks.acquire(world.newKey(), { ttl: '30s', wait: '5s' });
        await eventually(async () => expect(await world.left(lease.key)).toBeGreaterThan(0));
        network.hold(direction);
        const releasedAt = monotonicMs();
        await lease.release();
        expectBelow(monotonicMs() - releasedAt, RESULT_MS);
        await network.resume();
        await eventually(async () => expect(await world.left(lease.key)).toBe(0), NETWORK_BACK_MS);
      },
    );
  });

  describe('a lost reply', () => {
    it('to an acquire: a single caller gets the lock', async () => {
      const network = await world.network();
      const locks = world.locks(network.ways);
      await (await locks.acquire(world.newKey(), { wait: 1_000 })).release(); // subscribes
      const lost = network.loseNextAnswers();
      const startedAt = monotonicMs();
      const lease = await locks.acquire(world.newKey(), { ttl: '30s', wait: '10s' });
      expectBelow(monotonicMs() - startedAt, 1_000);
      await lost;
      await lease.release();
      await eventually(async () => expect(await world.left(lease.key)).toBe(0), NETWORK_BACK_MS);
    });

    it('to a release: no loss is reported', async () => {
      const network = await world.network();
      const locks = world.locks(network.ways);
      const lease = await locks.acquire(world.newKey(), { ttl: '30s', wait: '5s' });
      const lost = network.loseNextAnswers();
      await lease.release();
      await lost;
      await eventually(async () => expect(await world.left(lease.key)).toBe(0), NETWORK_BACK_MS);
      await locks.engine.drain(5_000); // a wrong report would follow the reply to the repeated release
      expect(locks.events.map(({ type }) => type)).not.toContain('lost');
    });

    it('to a renewal, and a late one: the lease continues', async () => {
      const ttl = 6_000;
      const network = await world.network();
      const locks = world.locks(network.ways);
      const lease = await locks.acquire(world.newKey(), { ttl, wait: '5s' });
      const heldAt = monotonicMs();
      await network.loseNextAnswers();
      await sleep(0.6 * ttl); // the lease is renewed every two seconds, and the next renewal is due in 0.4 s
      network.hold('toServer');
      const endsAt = await world.endsAt(lease.key);
      await sleep(600);
      await network.resume();
      await eventually(
        async () => expect(await world.endsAt(lease.key)).toBeGreaterThan(endsAt + ttl / 6),
        NETWORK_BACK_MS,
      );
      await sleep(Math.max(0, heldAt + 1.5 * ttl - monotonicMs()));
      expect(lease.isHeld()).toBe(true);
      await lease.release();
      await eventually(async () => expect(await world.left(lease.key)).toBe(0), NETWORK_BACK_MS);
    });
  });

  describe('a lost message costs a waiter one heartbeat', () => {
    async function handOver(waiting: ReturnType<TopologyWorld['locks']>, between = (): unknown => undefined) {
      const holder = world.locks();
      const lease = await holder.acquire(world.newKey(), { ttl: '30s', wait: '5s' });
      const acquired = waiting.acquire(lease.key, { wait: '20s' }).then((next) => ({ next, at: monotonicMs() }));
      await eventually(async () => expect(await world.waiting(lease.key)).toBe(1));
      between();
      const releasedAt = monotonicMs();
      await lease.release();
      const { next, at } = await acquired;
      expectBelow(at - releasedAt, SAFETY_NET_MS);
      await next.release();
    }

    it('when messages are lost', async () => {
      const eaters = await Promise.all(world.servers.map(({ port }) => startMessageEater(port)));
      await handOver(world.locks(eaters));
      expect(Math.max(...eaters.map(({ eaten }) => eaten))).toBeGreaterThan(0);
    });

    it('when the connection of its subscription is killed with the release', async () => {
      const network = await world.network();
      const waiter = world.locks(network.ways);
      await waiter.engine.connect();
      await handOver(waiter, () => network.cut());
    });
  });
}
