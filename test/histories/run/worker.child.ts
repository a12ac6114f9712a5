import { setMaxListeners } from 'node:events';
import { Redis } from 'ioredis';

import { outsideLocks } from '../../../libs/distribute-lock/src/engine/lease/held-leases.js';
import { Locks } from '../../../libs/distribute-lock/src/locks/locks.js';
import { RedisLockStore } from '../../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { locksOn, PREFIX } from '../../fault/support/lock-engine.js';
import { parentProcess } from '../../support/parent-process.js';
import { Random } from '../../simulation/random.js';
import type { WorkerEvent } from '../event.js';
import { planOperation } from '../plan/operation-plan.js';
import { planWorld, worldOf } from '../plan/world-plan.js';
import { recordScripts } from '../replay/recorded-scripts.js';
import { LeaseWatch } from './lease-watch.js';
import { watchLoop } from './loop-watch.js';
import { Operation, pause, type OperationTools } from './operation.js';
import { plantIn } from './plants.js';
import { Recorder } from './recorder.js';
import { Register } from './register.js';
import { runOperation } from './run-operation.js';
import type { ToWorker, WorkerSettings } from './worker.js';

/** A process whose callers do the operations of the seed. It ends after its shutdown. */
const parent = parentProcess<ToWorker>();
const settings = JSON.parse(process.env['HISTORY_WORKER'] ?? '') as WorkerSettings;
const plan = worldOf(planWorld(settings.world), settings.number);
const recorder = new Recorder<WorkerEvent>(settings.file, settings.name);
const leases = new LeaseWatch(recorder);
const ending = new AbortController();
setMaxListeners(0, ending.signal);
// A separate file, because the other one grows only while calls make progress.
const ofLoop = new Recorder<WorkerEvent>(`${settings.file}.loop`, settings.name);
const stopWatching = watchLoop(
  (from) => ofLoop.record({ type: 'standstill', from }),
  () => leases.sample(),
);

const stray = (error: unknown): void => {
  recorder.record({ type: 'stray', message: error instanceof Error ? String(error.stack) : String(error) });
};
process.on('warning', stray);
process.on('unhandledRejection', stray);
process.on('uncaughtException', stray);

// Before a store reads them.
recordScripts();

// Half of the processes use a client of the application.
const client = settings.ownClient ? new Redis(settings.url, { protocol: settings.protocol }) : undefined;
client?.on('error', () => {});
const store =
  client === undefined
    ? RedisLockStore.open(settings.url, { prefix: PREFIX })
    : RedisLockStore.open(client, { prefix: PREFIX });
const planted = plantIn(settings, store);
const { engine } = locksOn(planted.store);
const register = new Register(settings.registerUrl);
const tools: OperationTools = planted.tools({
  service: new Locks(() => engine),
  register,
  recorder,
  leases,
  outside: outsideLocks,
  ending: ending.signal,
});

async function caller(number: number, count: number): Promise<void> {
  const random = new Random(hash(`${plan.seed} ${settings.name} ${number}`));
  for (let done = 0; done < count && !ending.signal.aborted; done += 1) {
    const operation = planOperation(random, plan);
    await runOperation(tools, operation, `${settings.name}/${number}.${done}`);
    await pause(operation.gapMs, [ending.signal]);
  }
}

async function run(operations: number): Promise<void> {
  const { callers } = plan;
  const shares = Array.from({ length: callers }, (_, i) => Math.floor((operations + i) / callers));
  await Promise.all(shares.map((share, i) => caller(i, share)));
  parent.send('done', undefined);
}

/** Asserts that each key is free for a waiter. */
async function probe(): Promise<void> {
  for (const { name, kind, permits, ttlMs } of plan.keys) {
    const options = {
      ttl: ttlMs,
      wait: 3_000,
      kind: kind === 'semaphore' ? kind : 'exclusive',
      permits: permits,
    } as const;
    const { permits: _, ...others } = options;
    const operation = {
      call: 'withLock' as const,
      keys: [name],
      options: kind === 'semaphore' ? options : others,
      holdMs: 0,
      gapMs: 0,
    };
    await new Operation(tools, operation, `${settings.name}/probe.${name}`, { probe: true }).run();
  }
  parent.send('probed', undefined);
}

async function close(drainTimeoutMs: number): Promise<void> {
  process.channel?.unref();
  recorder.record({ type: 'shutdown' });
  engine.refuse();
  ending.abort();
  await engine.drain(drainTimeoutMs);
  await engine.close();
  recorder.record({ type: 'closed' });
  stopWatching();
  register.close();
  client?.disconnect();
}

/** FNV-1a. */
function hash(text: string): number {
  let state = 0x811c9dc5;
  for (const char of text) state = Math.imul(state ^ char.charCodeAt(0), 0x01000193);
  return state >>> 0;
}

parent.on('run', ({ operations }) => void run(operations));
parent.on('probe', () => void probe());
parent.on('close', ({ drainTimeoutMs }) => void close(drainTimeoutMs));
// An application that connects at start would not start during a fault.
await engine.connect().catch(() => undefined);
parent.send('ready', undefined);
