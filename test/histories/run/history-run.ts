import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { openLocks, type Locks } from '../../fault/support/lock-engine.js';
import type { FaultProxy } from '../../support/proxy/fault-proxy.js';
import { startRedisServer, type RedisServer } from '../../support/redis-server.js';
import { recordScripts } from '../replay/recorded-scripts.js';
import { RUN, type HistoryEvent, type RunEvent } from '../event.js';
import { LONGEST_TTL_MS } from '../plan/operation-plan.js';
import { planWorld, type WorldPlan, type WorldSettings } from '../plan/world-plan.js';
import { FaultDriver, type Scene } from './fault-driver.js';
import { channels, persistentKeys, whatStays } from './last-look.js';
import { watchLoop } from './loop-watch.js';
import { plantAfterFailover, type PlantName } from './plants.js';
import { readEvents } from './read-events.js';
import { Recorder } from './recorder.js';
import { Servers } from './servers.js';
import { Slots } from './slots.js';
import type { Worker } from './worker.js';

/** All keys of a lease are gone this long after its longest ttl. */
const GRACE_MS = 2_000;
const LOOKS_EVERY_MS = 250;

/** The result of a run: its plan, and all events of all processes in the order of time. */
export interface RecordedRun {
  readonly plan: WorldPlan;
  readonly folder: string;
  readonly events: readonly HistoryEvent[];
}

/** Runs the history that the settings describe, with real processes on a private Redis. */
export async function runHistory(world: WorldSettings, plant?: PlantName): Promise<RecordedRun> {
  recordScripts();
  const plan = planWorld(world);
  const folder = await mkdtemp(join(tmpdir(), 'history-'));
  const recorder = new Recorder<RunEvent>(join(folder, `${RUN}.jsonl`), RUN);
  const replica = plan.faults.flat().some(({ name }) => name === 'planned-failover');
  const [servers, register] = await Promise.all([Servers.start(folder, { replica }), startRedisServer()]);
  const serverPort = servers.primary.port;
  const parts = { plan, world, plant, folder, recorder, serverPort, registerUrl: register.url };
  const run = new HistoryRun(plan, servers, recorder, new Slots(parts), plant);
  try {
    await run.run();
    await servers.endLogs();
  } finally {
    await run.stop();
    await Promise.all([servers.stop(), register.stop()]);
    recorder.close();
  }
  return { plan, folder, events: await readEvents(folder) };
}

class HistoryRun implements Scene {
  readonly keys: readonly string[];
  private locks: Locks | undefined;
  private stopWatching: (() => void) | undefined;

  constructor(
    private readonly plan: WorldPlan,
    private readonly servers: Servers,
    readonly recorder: Recorder<RunEvent>,
    private readonly slots: Slots,
    private readonly plant: PlantName | undefined,
  ) {
    this.keys = plan.keys.map(({ name }) => name);
  }

  get ways(): readonly FaultProxy[] {
    return this.slots.ways;
  }

  get server(): RedisServer {
    return this.servers.primary;
  }

  async failOver(): Promise<void> {
    await this.servers.failOver(this.ways);
    await plantAfterFailover(this.plant, this.server);
  }

  worker(number: number): Worker {
    return this.slots.worker(number);
  }

  kill(number: number): Promise<void> {
    return this.slots.kill(number);
  }

  shutDown(number: number): Promise<void> {
    return this.slots.shutDown(number);
  }

  async forceRelease(key: string): Promise<unknown> {
    this.locks ??= openLocks(this.server.url);
    return this.locks.engine.forceRelease(key);
  }

  async run(): Promise<void> {
    // The proxies are in this process: while it is stopped, so is the network.
    this.stopWatching = watchLoop((from) => this.recorder.record({ type: 'standstill', from }));
    await this.slots.start();
    await this.underFaults();
    await this.look('after the last call', LONGEST_TTL_MS + GRACE_MS, true);
    await this.slots.probe();
    await this.look('after the probes', LONGEST_TTL_MS + GRACE_MS, false);
    await this.slots.closeAll();
    await this.locks?.engine.close();
    await this.look('after the shutdown', 0, false);
    for (const channel of await channels(this.server))
      this.recorder.record({ type: 'left', what: `channel ${channel}` });
  }

  async stop(): Promise<void> {
    this.stopWatching?.();
    await this.slots.stop();
  }

  private async underFaults(): Promise<void> {
    const ended = new AbortController();
    const faults = new FaultDriver(this).run(this.plan.faults, ended.signal);
    const watching = this.watchTtls(ended.signal);
    await Promise.race([this.slots.untilDone(), failing(faults)]);
    ended.abort();
    await Promise.all([faults, watching]);
    // the last fault may have started a new process
    await this.slots.untilDone();
  }

  private async watchTtls(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await sleep(LOOKS_EVERY_MS);
      const keys = await persistentKeys(this.server).catch(() => []);
      for (const key of keys) this.recorder.record({ type: 'persistent', key });
    }
  }

  /** @param dead - whether queues may contain entries of killed processes, which the next caller skips */
  private async look(when: string, withinMs: number, dead: boolean): Promise<void> {
    const left = await whatStays(this.server, withinMs);
    const alive = dead ? await channels(this.server) : [];
    for (const what of left) {
      if (!dead || !onlyOfTheDead(what, alive)) this.recorder.record({ type: 'left', what: `${when}: ${what}` });
    }
  }
}

/** Rejects when `faults` does, and otherwise never settles. */
function failing(faults: Promise<void>): Promise<never> {
  return new Promise((_, reject) => void faults.catch(reject));
}

/** An entry starts with the channel id of its process, and the name of the channel ends with it. */
function onlyOfTheDead(what: string, alive: readonly string[]): boolean {
  const [, name, entries] = /^(\S+) = (.*) \(-?\d+ ms\)$/.exec(what) ?? [];
  if (name === undefined || !/^(q|sq|sa)1:/.test(name)) return false;
  return entries
    .split(' ')
    .every((token) => !alive.some((channel) => token.startsWith(channel.slice(channel.lastIndexOf(':') + 1))));
}
