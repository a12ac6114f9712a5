import { setTimeout as sleep } from 'node:timers/promises';

import { jest } from '@jest/globals';

import { processClock } from '../../libs/distribute-lock/src/runtime/clock.js';
import type { Locks } from '../fault/support/lock-engine.js';
import { useLockWorld } from '../fault/support/use-lock-world.js';
import { eventually } from '../support/eventually.js';

const SECONDS = 5;
const WAITERS = 100;

/** Counts how often a timer of the library fires. */
function countWakeUps(): { wakeUps: number } {
  const count = { wakeUps: 0 };
  const { after } = processClock;
  jest.spyOn(processClock, 'after').mockImplementation((delayMs, callback) =>
    after(delayMs, () => {
      count.wakeUps += 1;
      callback();
    }),
  );
  return count;
}

// The wake-ups of a process that only waits are most of its CPU. A busy machine causes fewer of them, not more.
describe('a process that only waits', () => {
  const world = useLockWorld();

  afterEach(() => jest.restoreAllMocks());

  /** The lock comes from another process, so this process receives messages. */
  async function holdHere(locks: Locks, key: string) {
    const release = await holdElsewhere(key);
    const acquired = locks.acquire(key, { ttl: '30s', wait: '5s' });
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    await release();
    const lease = await acquired;
    return () => lease.release();
  }

  async function holdElsewhere(key: string) {
    const holder = await world.process();
    const { lease } = await holder.do('acquire', { key, ttl: 30_000 });
    return () => holder.do('release', { lease });
  }

  it.each([
    ['in the same process', true, 1.7],
    ['in another process', false, 2.6],
  ])('for a holder %s wakes up seldom', async (_where, same, mostPerSecond) => {
    const count = countWakeUps();
    const waiting = world.locks();
    await waiting.engine.connect();
    const key = world.newKey();
    const release = same ? await holdHere(waiting, key) : await holdElsewhere(key);
    const callers = Array.from({ length: WAITERS }, () => waiting.acquire(key, { ttl: '30s', wait: '30s' }));
    await sleep(2_000);
    const before = count.wakeUps;
    await sleep(SECONDS * 1_000);
    const wakeUps = count.wakeUps - before;
    await release();
    for (const caller of callers) await (await caller).release();
    await waiting.engine.close();
    expect(wakeUps).toBeGreaterThanOrEqual(1);
    expect(wakeUps).toBeLessThanOrEqual(mostPerSecond * SECONDS);
  });
});
