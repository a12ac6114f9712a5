/**
 * `npm run bench:recipes`: prints the figures of the recipes in docs/guide, each as the code of its page does it. The callers are
 * in this process and share two clients of locks, one for each of two instances.
 */
import { Queue, QueueEvents, DelayedError, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { createLocks, isLockError } from 'nestjs-distribute-lock/core';
import { setTimeout as delay } from 'node:timers/promises';

import { RedisServer } from './measuring/redis-server.mjs';

const server = await RedisServer.start();
const instances = await Promise.all([1, 2].map(() => createLocks({ connection: server.url })));
const of = (call) => instances[call % instances.length];
const times = (count, call) => Promise.all(Array.from({ length: count }, (_, at) => call(at)));
const ms = (value) => Math.round(value).toLocaleString('en');

/** The result of `work`, its milliseconds, and the commands that the server executed during it, without those of this function. */
async function measured(work) {
  const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await server.redis.info('stats'))[1]);
  const before = await commands();
  const startedAt = performance.now();
  const result = await work();
  const took = performance.now() - startedAt;
  return { result, took, commands: (await commands()) - before - 1 };
}

async function rate() {
  const starts = [];
  const options = { kind: 'semaphore', permits: 10, minHold: '1s', wait: '1m' };
  const start = (at) => of(at).withLock('geocoder', options, () => void starts.push(performance.now()));
  const { took } = await measured(() => times(60, start));
  starts.sort((one, other) => one - other);
  const shortest = Math.min(...starts.slice(10).map((end, at) => end - starts[at]));
  console.log(
    `rate: 60 starts at 10 per second took ${ms(took)} ms (5,000 is ideal); 11 starts took ${ms(shortest)} ms or more`,
  );
}

async function cache(waiters) {
  const key = `report:${waiters}`;
  const shared = new Redis(server.url);
  let computed;
  async function report(at) {
    const cached = await shared.get(`cache:${key}`);
    return cached ?? of(at).withLock(key, { wait: '30s' }, compute);
  }
  async function compute() {
    const meanwhile = await shared.get(`cache:${key}`);
    if (meanwhile !== null) return meanwhile;
    await delay(500); // the query
    await shared.set(`cache:${key}`, 'sum', 'PX', 60_000);
    computed = performance.now();
    return 'sum';
  }
  const { commands } = await measured(() => times(waiters, report));
  const after = performance.now() - computed;
  console.log(
    `cache: ${ms(waiters)} callers: the last one had its value ${ms(after)} ms after the first; ${ms(commands)} commands`,
  );
  shared.disconnect();
}

async function queue(jobs, customers, wait) {
  const { port } = server.redis.options;
  const connection = { host: '127.0.0.1', port };
  const name = `invoices-${customers}-${wait}`;
  let starts = 0;
  async function process(job, token) {
    starts += 1;
    try {
      return await of(starts).withLock(`customer:${job.data.customer}`, { wait }, () => delay(20));
    } catch (error) {
      if (!isLockError(error, 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT')) throw error;
      await job.moveToDelayed(Date.now() + Math.min(error.retryAfterMs, 1_000), token);
      throw new DelayedError();
    }
  }
  const given = new Queue(name, { connection }).setMaxListeners(0);
  const events = new QueueEvents(name, { connection });
  await events.waitUntilReady();
  const data = Array.from({ length: jobs }, (_, at) => ({
    name: 'settle',
    data: { customer: at % customers },
    opts: { attempts: 5 },
  }));
  const added = await given.addBulk(data);
  const workers = [1, 2].map(() => new Worker(name, process, { connection, concurrency: 10 }));
  const { took } = await measured(() => Promise.all(added.map((job) => job.waitUntilFinished(events))));
  const ideal = Math.max((jobs / customers) * 20, (jobs / 20) * 20);
  console.log(
    `queue: ${jobs} jobs of ${customers} customers, 20 ms each, wait ${wait}: ${ms(took)} ms (${ms(ideal)} is ideal), ` +
      `${ms(starts)} starts`,
  );
  await Promise.all([...workers, events, given].map((each) => each.close()));
}

try {
  await rate();
  for (const waiters of [10, 100, 1_000]) await cache(waiters);
  for (const wait of [0, '1s']) for (const customers of [1, 10, 100]) await queue(200, customers, wait);
} finally {
  await Promise.all(instances.map((locks) => locks.close()));
  await server.stop();
}
