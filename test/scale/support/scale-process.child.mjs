/**
 * A process with applications that load the built library; `scale-process.ts` starts it and makes its calls. It writes its holds into
 * a file, because messages are too slow for a million of them.
 */
import 'reflect-metadata';
import { writeFileSync } from 'node:fs';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

const { library, connection, applications, counterUrl, holdsFile } = JSON.parse(process.env.SCALE_PROCESS);
const { LockModule, LockService } = await import(library);

/** Calls of one turn of the event loop. */
const AT_ONCE = 200;
/** Numbers of one hold in the file: key, call, grant, end of the work, fencing token. The times are in nanoseconds. */
const FIELDS = 5;
const COUNTER = 'scale:counter';

const services = [];
for (let i = 0; i < applications; i += 1) services.push(await openService());
const [locks] = services;
const counter = counterUrl === undefined ? undefined : new Redis(counterUrl);

let taken = [];
let holds = new Float64Array(0);
let held = 0;
let refusals = {};
let unsettled = 0;
let allSettled = Promise.resolve();
let settleAll = () => undefined;

const calls = {
  /** Runs the code of all later calls once, so that they measure neither its compilation nor lazy connections. */
  async warmUp({ cycles }) {
    for (let i = 0; i < cycles; i += 1) {
      const lease = await locks.acquire(`warm-up:${process.pid}`, { ttl: '30s' });
      const behind = locks.acquire(`warm-up:${process.pid}`, { ttl: '30s', wait: '1m' });
      await lease.release();
      await (await behind).release();
    }
  },

  /** Acquires keys and holds them until the call `release`. */
  async take({ from, to, options }) {
    for (const some of chunks(from, to))
      taken.push(...(await Promise.all(some.map((key) => locks.acquire(nameOf(key), options)))));
  },

  async release() {
    const all = taken;
    taken = [];
    for (const some of chunks(0, all.length)) await Promise.all(some.map((i) => all[i].release()));
  },

  /** Starts callers of keys that are held, `each` per key. Returns the heap that each of them occupies. */
  async wait({ from, to, each, options, settleMs }) {
    const waiters = (to - from) * each;
    prepare(waiters);
    const before = heapUsed();
    for (const some of chunks(from, to)) {
      for (const key of some) {
        const served = (lease) => hold(lease, key, 0);
        for (let i = 0; i < each; i += 1) void locks.acquire(nameOf(key), options).then(served).catch(refused);
      }
      await turn();
    }
    await sleep(settleMs);
    return { heapPerWaiter: (heapUsed() - before) / waiters };
  },

  /** Resolves when every caller of `wait` has released its lock, or was refused. */
  async served() {
    await allSettled;
    writeFileSync(holdsFile, holds.subarray(0, held * FIELDS));
    return { served: held, refusals };
  },

  /** One caller in each application acquires the key repeatedly. */
  async loop({ key, options, forMs }) {
    held = 0;
    const until = performance.now() + forMs;
    const caller = async (service) => {
      while (performance.now() < until) {
        const calledAt = nowNs();
        await hold(await service.acquire(nameOf(key), options), key, calledAt);
      }
    };
    await Promise.all(services.map((service) => caller(service).catch(refused)));
    writeFileSync(holdsFile, holds.subarray(0, held * FIELDS));
    return { served: held, refusals };
  },

  /** Share of a core that the process uses, in percent. */
  async cpu({ forMs }) {
    const before = process.cpuUsage();
    const startedAt = performance.now();
    await sleep(forMs);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / (performance.now() - startedAt) / 10;
  },
};

async function openService() {
  const module = { module: class Application {}, imports: [LockModule.forRoot({ connection })] };
  const application = await NestFactory.createApplicationContext(module, { logger: ['error', 'warn'] });
  return application.get(LockService);
}

async function hold(lease, key, calledAt) {
  const from = nowNs();
  await work();
  record(key, calledAt, from, nowNs(), lease.fencingToken);
  await lease.release();
  settled();
}

/** Two commands that lose an update when two holders overlap; without a counter, one turn of the event loop. */
async function work() {
  if (counter === undefined) await turn();
  else await counter.set(COUNTER, Number(await counter.get(COUNTER)) + 1);
}

function record(...fields) {
  if ((held + 1) * FIELDS > holds.length) {
    const larger = new Float64Array(Math.max(FIELDS * 1_024, 2 * holds.length));
    larger.set(holds);
    holds = larger;
  }
  holds.set(fields, held * FIELDS);
  held += 1;
}

function prepare(waiters) {
  holds = new Float64Array(FIELDS * waiters);
  held = 0;
  refusals = {};
  unsettled = waiters;
  allSettled = new Promise((resolve) => (settleAll = resolve));
}

function refused(error) {
  const name = error.code ?? String(error);
  refusals[name] = (refusals[name] ?? 0) + 1;
  settled();
}

function settled() {
  unsettled -= 1;
  if (unsettled === 0) settleAll();
}

function heapUsed() {
  for (let i = 0; i < 3; i += 1) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

function* chunks(from, to) {
  for (let at = from; at < to; at += AT_ONCE)
    yield Array.from({ length: Math.min(AT_ONCE, to - at) }, (_, i) => at + i);
}

/** The monotonic clock of the machine, which all processes share. */
function nowNs() {
  return Number(process.hrtime.bigint());
}

function nameOf(key) {
  return `key:${String(key).padStart(6, '0')}`;
}

process.once('disconnect', () => process.exit());
process.on('message', ({ name, data: { id, args } }) => {
  calls[name](args).then(
    (result) => process.send({ name: `answer ${id}`, data: { result } }),
    (error) => process.send({ name: `answer ${id}`, data: { error: error.stack } }),
  );
});
process.send({ name: 'ready' });
