import { setTimeout as sleep } from 'node:timers/promises';

import { OURS, PEERS, RAW } from '../adapters/index.mjs';
import { Arena } from '../measuring/arena.mjs';
import { goal } from '../measuring/goals.mjs';

const LOCKS = 100_000;
const AT_ONCE = 500;
const SETTLE_LIMIT_MS = 8_000;

let keys;
let held;
let timers = 0;

export const calls = {
  /** Creates the resources that must not be counted. */
  async prepare({ locks }) {
    keys = Array.from({ length: LOCKS }, (_, i) => `order:${String(i).padStart(6, '0')}`);
    held = Array.from({ length: LOCKS }, () => null);
    await takeAll(locks, AT_ONCE * 4);
    await releaseAll(locks, AT_ONCE * 4);
    countTimers();
  },
  async take({ locks }) {
    const before = footprint();
    await takeAll(locks, LOCKS);
    const after = footprint();
    return { heap: (after.heap - before.heap) / LOCKS, timers: (after.timers - before.timers) / LOCKS };
  },
  async release({ locks }) {
    await releaseAll(locks, LOCKS);
  },
};

function footprint() {
  for (let i = 0; i < 3; i += 1) globalThis.gc();
  const awake = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  return { heap: process.memoryUsage().heapUsed, timers: Math.max(awake, timers) };
}

/** The runtime does not report unreferenced timers, so this counts all timers that are created and not cleared. */
function countTimers() {
  const make = globalThis.setTimeout;
  const clear = globalThis.clearTimeout;
  const open = new WeakSet();
  globalThis.setTimeout = (callback, delay, ...args) => {
    const timer = make(() => {
      if (open.delete(timer)) timers -= 1;
      callback(...args);
    }, delay);
    open.add(timer);
    timers += 1;
    return timer;
  };
  globalThis.clearTimeout = (timer) => {
    if (typeof timer === 'object' && timer !== null && open.delete(timer)) timers -= 1;
    clear(timer);
  };
}

async function takeAll(locks, count) {
  for (let from = 0; from < count; from += AT_ONCE) {
    const some = keys.slice(from, from + AT_ONCE);
    const got = await Promise.all(some.map((key) => locks.acquire(key)));
    for (const [i, lock] of got.entries()) held[from + i] = lock;
  }
}

async function releaseAll(locks, count) {
  for (let from = 0; from < count; from += AT_ONCE) {
    await Promise.all(held.slice(from, from + AT_ONCE).map((lock) => locks.release(lock)));
    held.fill(null, from, from + AT_ONCE);
  }
}

/** The cost of a held lock. */
export async function* measure({ peersEverywhere }) {
  const subjects = [RAW, OURS, ...(peersEverywhere ? PEERS : [])];
  const runs = new Map();
  // a high `hz`, so that the server shrinks large tables soon
  for (const subject of subjects) runs.set(subject, await Arena.run(import.meta.url, oneRun(subject), { hz: 100 }));
  const ours = runs.get(OURS);
  yield {
    title: `${LOCKS} locks held`,
    note: 'Per lock, keys of 12 characters. raw keeps nothing in the process but the key and the token.',
    tables: [
      {
        columns: ['', 'bytes in Redis', 'bytes of heap', 'timers', 'bytes left after release'],
        better: [0, -1, -1, -1, 0],
        rows: Array.from(runs, ([subject, run]) => [subject, run.redis, run.heap, run.timers, run.left]),
      },
    ],
    goals: [
      goal('bytes in Redis, per lock', ours.redis, { atMost: 165, aim: 150 }),
      goal('bytes of heap, per lock', ours.heap, { atMost: 600, aim: 400 }),
      goal('timers, per lock', ours.timers, { below: 0.001 }),
      goal('bytes left in Redis after release, per lock', ours.left, { below: 1 }),
    ],
  };
}

const oneRun = (subject) => async (arena) => {
  const { server } = arena;
  const client = await arena.client(subject, { ttl: '10m' });
  await client.call('prepare');
  const before = await settled(server, 0);
  const { heap, timers: timersEach } = await client.call('take');
  const during = await settled(server, 0);
  await client.call('release');
  const after = await settled(server, before + LOCKS / 2);
  return { redis: (during - before) / LOCKS, heap, timers: timersEach, left: Math.max(0, after - before) / LOCKS };
};

/** Waits, because Redis releases memory gradually. */
async function settled(server, enough) {
  const until = performance.now() + SETTLE_LIMIT_MS;
  let used = await server.usedMemory();
  for (;;) {
    await sleep(250);
    const now = await server.usedMemory();
    const still = Math.abs(now - used) < 512;
    used = now;
    if (used <= enough || (enough === 0 && still) || performance.now() > until) return used;
  }
}
