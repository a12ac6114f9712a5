import { setTimeout as sleep } from 'node:timers/promises';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import type { FaultProxy } from '../support/proxy/fault-proxy.js';
import type { RedisServer } from '../support/redis-server.js';
import { expectBelow } from './support/bound.js';
import { monotonicMs } from '../support/monotonic.js';
import { useQuorumWorld } from './support/use-quorum-world.js';
import { fencingTokensRise, overlaps } from './support/witness.js';

/** Each write is on disk before its reply, so that a killed node restarts with its votes. */
const KEEPS_EVERYTHING = { config: { appendonly: 'yes', appendfsync: 'always' } };
const FLAP_MS = 300;

/** Causes one temporary fault on one node. */
async function flap(server: RedisServer, proxy: FaultProxy): Promise<void> {
  const forMs = 100 + Math.random() * 900;
  const dice = Math.random();
  if (dice < 0.25) proxy.cut();
  else if (dice < 0.5) {
    proxy.hold(dice < 0.33 ? 'toClient' : undefined);
    await sleep(forMs);
    await proxy.resume();
  } else if (dice < 0.8) {
    server.pause();
    await sleep(forMs);
    server.resume();
  } else {
    await server.kill();
    await sleep(forMs);
    await server.start();
  }
}

describe('P1 on a quorum whose nodes keep their data', () => {
  const world = useQuorumWorld(5, KEEPS_EVERYTHING);

  it('two holders never run at once while nodes fail for 10 s under six processes', async () => {
    const proxies = await world.proxies();
    const urls = proxies.map(({ url }) => url);
    const processes = await Promise.all(Array.from({ length: 6 }, () => world.process(urls)));
    const plan = {
      key: world.newKey(),
      callers: 3,
      forMs: 10_000,
      leastHolds: 6,
      holdMs: 20,
      ttl: 1_500,
      wait: 3_000,
      aborts: 0.2,
    };
    const under = new Set<number>();
    const flaps: Promise<void>[] = [];
    let most = 0;
    // Several nodes may be down at the same time; without a majority no caller gets the lock.
    const flapping = setInterval(() => {
      const node = Math.floor(Math.random() * 5);
      if (under.has(node)) return;
      under.add(node);
      most = Math.max(most, under.size);
      flaps.push(flap(world.servers[node], proxies[node]).then(() => void under.delete(node)));
    }, FLAP_MS);
    onCleanup(() => clearInterval(flapping));
    const fights = await Promise.all(processes.map((process) => process.do('fight', plan)));
    clearInterval(flapping);
    await Promise.all(flaps);

    const holds = fights.flatMap((fight) => fight.holds);
    expect(overlaps(holds)).toEqual([]);
    expect(fencingTokensRise(holds)).toBe(true);
    // Each process must have held the lock, and faults must have occurred.
    for (const fight of fights) expect(fight.holds.length).toBeGreaterThan(0);
    expect(holds.length).toBeGreaterThan(30);
    expect(flaps.length).toBeGreaterThan(15);
    expect(most).toBeGreaterThan(1);
    const refusals = new Set(fights.flatMap((fight) => Object.keys(fight.refusals)));
    for (const code of refusals) expect(['LOCK_ABORTED', 'LOCK_WAIT_TIMEOUT', 'LOCK_UNAVAILABLE']).toContain(code);
    await eventually(async () => expect(await world.taken(plan.key)).toBe(0), 2_000);
  }, 40_000);
});

describe('P8 and P12 on a quorum', () => {
  const world = useQuorumWorld();

  it('a crashed holder blocks the others no longer than its ttl', async () => {
    const [holder, ...waiters] = await Promise.all([world.process(), world.process(), world.process()]);
    const key = world.newKey();
    const ttl = 2_000;
    await holder.do('acquire', { key, ttl });
    await holder.kill();
    const killedAt = monotonicMs();
    const first = await Promise.race(waiters.map((waiter) => waiter.do('acquire', { key, ttl, wait: '20s' })));
    expectBelow(first.at - killedAt, ttl + 1_000);
  });

  it('a waiter wakes by message', async () => {
    const [holder, waiter] = await Promise.all([world.process(), world.process()]);
    const key = world.newKey();
    const turns: number[] = [];
    for (let i = 0; i < 9; i += 1) {
      const held = await holder.do('acquire', { key, wait: '10s' });
      const waiting = waiter.do('acquire', { key, wait: '10s' });
      await eventually(async () => expect(await world.clients[0].zcard(`q1:{lock:${key}}`)).toBe(1));
      await sleep(20);
      const { at } = await holder.do('release', held);
      const next = await waiting;
      turns.push(next.at - at);
      await waiter.do('release', next);
    }
    expectBelow(turns.sort((a, b) => a - b)[4], 50);
  });

  it('a killed waiter does not delay the waiters behind it', async () => {
    const [holder, dead, waiter] = await Promise.all([world.process(), world.process(), world.process()]);
    const key = world.newKey();
    const held = await holder.do('acquire', { key });
    const standing = (count: number): Promise<void> =>
      eventually(async () => expect(await world.clients[0].zcard(`q1:{lock:${key}}`)).toBe(count));
    void dead.do('acquire', { key, wait: '20s' });
    await standing(1);
    const waiting = waiter.do('acquire', { key, wait: '20s' });
    await standing(2);
    await dead.kill();
    const { at } = await holder.do('release', held);
    expectBelow((await waiting).at - at, 300);
  });
});
