import { setTimeout as sleep } from 'node:timers/promises';

import { mayTakeEffect } from '../../libs/distribute-lock/src/store/lock-store.js';
import { QuorumLockStore } from '../../libs/distribute-lock/src/store/quorum/quorum-lock-store.js';
import { openMember } from '../../libs/distribute-lock/src/store/quorum/node-connection.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { expectBelow } from '../fault/support/bound.js';
import { locksOn, PREFIX, type Locks } from '../fault/support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from '../fault/support/use-lock-world.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { withDetours } from '../support/held-up-store.js';

const TEST_MS = 90_000;
const TICK_MS = 10;

/** Counts the commands of the engine that may have reached a server. */
class CountedCommands {
  acquires = 0;
  releases = 0;

  readonly detours = {
    acquire: (ask: () => Promise<unknown>) => this.count(ask, () => (this.acquires += 1)),
    release: (ask: () => Promise<unknown>) => this.count(ask, () => (this.releases += 1)),
  };

  private async count(ask: () => Promise<unknown>, sent: () => void): Promise<unknown> {
    try {
      const answer = await ask();
      sent();
      return answer;
    } catch (error) {
      if (mayTakeEffect(error)) sent();
      throw error;
    }
  }
}

/**
 * Measures the longest time this process blocked its event loop, until the returned function is called. Ignores time
 * without CPU use.
 */
function measureLag(): () => number {
  let longestMs = 0;
  let lastAt = monotonicMs();
  let lastCpu = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(lastCpu);
    longestMs = Math.max(longestMs, Math.min(monotonicMs() - lastAt - TICK_MS, (user + system) / 1_000));
    lastAt = monotonicMs();
    lastCpu = process.cpuUsage();
  }, TICK_MS);
  return () => {
    clearInterval(timer);
    return longestMs;
  };
}

/** Makes `perSecond` calls with wait 0 for `ms`. Resolves with their number when all were refused. */
async function refusedCalls(locks: Locks, perSecond: number, ms: number, ttl: number): Promise<number> {
  const pending: Promise<unknown>[] = [];
  const startedAt = monotonicMs();
  for (let made = 0; monotonicMs() - startedAt < ms;) {
    const due = Math.floor(((monotonicMs() - startedAt) / 1_000) * perSecond);
    for (; made < due; made += 1) pending.push(locks.acquire(`call-${made}`, { ttl }).catch(() => undefined));
    await sleep(TICK_MS);
  }
  await Promise.all(pending);
  return pending.length;
}

async function cpuShare(ms: number): Promise<number> {
  const before = process.cpuUsage();
  const startedAt = monotonicMs();
  await sleep(ms);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / (monotonicMs() - startedAt);
}

/** Measures from the moment the server responds again until every abandoned token is undone. */
async function recovery(locks: Locks, resume: () => unknown) {
  const waiter = locks.acquire('first waiter', { ttl: 10_000, wait: '60s' });
  const lag = measureLag();
  const backAt = monotonicMs();
  await resume();
  await (await waiter).release();
  const servedMs = monotonicMs() - backAt;
  return { servedMs, lag };
}

describe('P20: undoing abandoned attempts has a budget', () => {
  const world = useLockWorld();

  const locksOver = (url: string) => {
    const commands = new CountedCommands();
    const store = RedisLockStore.open(url, { prefix: PREFIX });
    const locks = locksOn(withDetours(store, commands.detours));
    onCleanup(() => locks.engine.close());
    return { locks, commands };
  };

  /** Expects only the counter of fencing tokens and records of processes. Listing the keys would block the event loop of this process. */
  const COUNT = "return redis.call('DBSIZE') - #redis.call('KEYS', 'p1:*')";
  const nothingLeft = (within?: number): Promise<void> =>
    eventually(async () => expect(await world.client.eval(COUNT, 0)).toBeLessThanOrEqual(1), within);

  it(
    'costs nothing while the connection is refused, because no command was sent',
    async () => {
      const proxy = await world.proxy();
      const { locks, commands } = locksOver(proxy.url);
      await (await locks.acquire('warm')).release();
      const before = { ...commands };
      proxy.goDown();
      proxy.cut();
      await sleep(100);
      const calls = await refusedCalls(locks, 2_000, 15_000, 600_000);
      expect(calls).toBeGreaterThan(25_000);
      const cpu = await cpuShare(4_000);
      const { servedMs, lag } = await recovery(locks, () => proxy.resume());
      await sleep(2_000);
      const releases = commands.releases - before.releases - 1;
      expect(cpu).toBeLessThan(0.05);
      expectBelow(servedMs, 3_000);
      expectBelow(lag(), 200);
      expect(releases).toBeLessThan(10);
    },
    TEST_MS,
  );

  it(
    'has at most 3 commands per attempt that was sent to a server that stopped responding',
    async () => {
      const { locks, commands } = locksOver(world.server.url);
      await (await locks.acquire('warm')).release();
      await world.client.config('RESETSTAT');
      world.server.pause();
      const before = { ...commands };
      const calls = await refusedCalls(locks, 5_000, 2_000, 600_000);
      const cpu = await cpuShare(3_000);
      const { servedMs, lag } = await recovery(locks, () => world.server.resume());
      await nothingLeft(4_000);
      await sleep(2_000);
      const sent = commands.acquires - before.acquires;
      const undos = commands.releases - before.releases;
      expect(calls).toBeGreaterThan(5_000);
      expect(cpu).toBeLessThan(0.05);
      expectBelow(servedMs, 3_000);
      expectBelow(lag(), 200);
      expect(sent + undos).toBeLessThanOrEqual(3 * sent);
    },
    TEST_MS,
  );

  it(
    'costs little on a quorum whose nodes refuse the connection',
    async () => {
      const proxies = await Promise.all([world.proxy(), world.proxy(), world.proxy()]);
      const store = new QuorumLockStore(proxies.map(({ url }, i) => openMember(url, `${PREFIX}${i}:`)));
      const locks = locksOn(store);
      onCleanup(() => locks.engine.close());
      await (await locks.acquire('warm')).release();
      for (const proxy of proxies) {
        proxy.goDown();
        proxy.cut();
      }
      await sleep(100);
      await refusedCalls(locks, 500, 4_000, 600_000);
      const cpu = await cpuShare(4_000);
      const { servedMs, lag } = await recovery(locks, () => Promise.all(proxies.map((proxy) => proxy.resume())));
      expect(cpu).toBeLessThan(0.05);
      expectBelow(servedMs, 3_000);
      expectBelow(lag(), 200);
      const { candidates } = store as unknown as { candidates: Map<string, unknown> };
      await eventually(async () => expect(candidates.size).toBe(0), 4_000);
    },
    TEST_MS,
  );
});
