/**
 * `npm run bench:instructions`: the instructions of redis-server per lock, counted by valgrind. The counts hardly depend on the
 * machine and its load, unlike times.
 */
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import { LockService } from 'nestjs-distribute-lock';

import { openApplication } from './adapters/ours.mjs';
import { RawLocks } from './adapters/raw.mjs';
import { RedisServer } from './measuring/redis-server.mjs';
import { table } from './measuring/report.mjs';
import { burst } from './workloads/support/burst.mjs';

const CALLGRIND = ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null'];
const TIMES = 960;

/** Uncontended cycles of separate keys. */
const cycles = (loops) => async (locks, times) => {
  const loop = async (_, i) => {
    for (let done = 0; done < times / loops; done += 1) await locks.release(await locks.acquire(`cycle:${i}`));
  };
  await Promise.all(Array.from({ length: loops }, loop));
};

/** Waiters of one key in one process, each served by the server. */
const strictWaiters = (locks, waiters) => burst(locks, { waiters, settleMs: 1_000, withinMs: 120_000 });

const ROWS = [
  ['a script that returns at once', openEmpty, cycles(1)],
  ['bare commands, 1 at a time', openRaw, cycles(1)],
  ...[1, 16, 128].map((loops) => [`acquire and release, ${loops} at a time`, openOurs, cycles(loops)]),
  ["a waiter with fair: 'strict': queued, served, released", openOurs, strictWaiters],
];

async function openEmpty(url) {
  const redis = new Redis(url);
  const sha = await redis.script('LOAD', 'return 0');
  const run = () => redis.evalsha(sha, 1, 'key', 'argument');
  return { acquire: run, release: async () => undefined, close: async () => redis.disconnect() };
}

async function openRaw(url) {
  const locks = await RawLocks.open(url);
  return {
    acquire: (key) => locks.try(key),
    release: (held) => locks.release(held),
    close: async () => locks.redis.disconnect(),
  };
}

async function openOurs(url) {
  const application = await openApplication(url);
  const locks = application.get(LockService);
  return {
    acquire: (key) => locks.acquire(key, { ttl: '10m', wait: '10m', fair: 'strict' }),
    release: (lease) => lease.release(),
    close: () => application.close(),
  };
}

/** All instructions of a server during one run. */
async function counted(open, run, times) {
  const server = await RedisServer.start({ hz: 1 }, CALLGRIND);
  const report = text(server.process.stderr);
  const locks = await open(server.url);
  await run(locks, times);
  await locks.close();
  server.redis.shutdown('NOSAVE').catch(() => undefined);
  const [, total] = /Collected : (\d+)/.exec(await report) ?? [];
  server.redis.disconnect();
  if (total === undefined) throw new Error(`valgrind reports no count: ${await report}`);
  return Number(total);
}

const rows = [];
for (const [name, open, run] of ROWS) {
  // The difference of two runs excludes start and end.
  const [once, twice] = [await counted(open, run, TIMES), await counted(open, run, 2 * TIMES)];
  rows.push([name, Math.round((twice - once) / TIMES / 100) * 100]);
}
console.log(table(['', 'instructions'], rows));
process.exit(0);
