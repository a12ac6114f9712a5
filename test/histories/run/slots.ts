import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { startFaultProxy, type FaultProxy } from '../../support/proxy/fault-proxy.js';
import type { RunEvent } from '../event.js';
import type { WorldPlan, WorldSettings } from '../plan/world-plan.js';
import type { PlantName } from './plants.js';
import type { Recorder } from './recorder.js';
import { Worker } from './worker.js';

const DRAIN_MS = 500;
/** The drain, the work in progress, and the limit of P13. */
const EXITS_WITHIN_MS = 6_000;
/** Longer than any call takes that settles. */
const NO_PROGRESS_MS = 10_000;

interface SlotsParts {
  readonly plan: WorldPlan;
  readonly world: WorldSettings;
  readonly plant: PlantName | undefined;
  readonly folder: string;
  readonly serverPort: number;
  readonly registerUrl: string;
  readonly recorder: Recorder<RunEvent>;
}

/** The slot of a process: when one process ends, the next one does the rest of its operations. */
interface Slot {
  readonly way: FaultProxy;
  readonly operations: number;
  readonly names: string[];
  worker: Worker | undefined;
  done: boolean;
}

/** The processes of a history, each with a separate proxy to the server. */
export class Slots {
  private readonly slots: Slot[] = [];
  /** Processes that end as intended. */
  private readonly ending = new Set<Worker>();

  constructor(private readonly parts: SlotsParts) {}

  get ways(): readonly FaultProxy[] {
    return this.slots.map(({ way }) => way);
  }

  async start(): Promise<void> {
    const { plan, serverPort } = this.parts;
    for (let i = 0; i < plan.processes; i += 1) {
      const way = await startFaultProxy(serverPort);
      const operations = Math.floor((plan.operations + i) / plan.processes);
      this.slots.push({ way, operations, names: [], worker: undefined, done: false });
    }
    await Promise.all(this.slots.map((_, number) => this.replace(number)));
  }

  worker(number: number): Worker {
    const { worker } = this.slots[number];
    if (worker === undefined) throw new Error(`The history has no process ${number}.`);
    return worker;
  }

  async kill(number: number): Promise<void> {
    const worker = this.worker(number);
    this.ending.add(worker);
    this.parts.recorder.record({ type: 'killed', of: worker.settings.name });
    await worker.kill();
    await this.replace(number);
  }

  async shutDown(number: number): Promise<void> {
    await this.close(this.worker(number));
    await this.replace(number);
  }

  /** Resolves when all operations have ended, or without any progress: the checker reports calls that never settle. */
  async untilDone(): Promise<void> {
    let size = -1;
    let since = performance.now();
    while (this.slots.some(({ done }) => !done)) {
      await sleep(50);
      const sizes = await Promise.all(this.slots.map(({ names }) => this.sizeOf(names.at(-1))));
      const sum = sizes.reduce((all, each) => all + each, 0);
      if (sum !== size) since = performance.now();
      size = sum;
      if (performance.now() - since > NO_PROGRESS_MS) return;
    }
  }

  /** Makes every process ask for every key once more. */
  async probe(): Promise<void> {
    for (const { worker } of this.slots) {
      if (worker?.alive !== true) continue;
      worker.send('probe', undefined);
      await worker.once('probed', 60_000);
    }
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.slots.map(async ({ worker }) => worker !== undefined && this.close(worker)));
  }

  async stop(): Promise<void> {
    for (const { worker, way } of this.slots) {
      if (worker !== undefined) this.ending.add(worker);
      await worker?.kill();
      await way.stop();
    }
  }

  private async replace(number: number): Promise<void> {
    const slot = this.slots[number];
    const name = `p${number}.${slot.names.length}`;
    const { world, plant, registerUrl, recorder } = this.parts;
    const rest = slot.operations - (await this.operationsOf(slot));
    const file = this.fileOf(name);
    await writeFile(file, '');
    slot.names.push(name);
    const worker = new Worker({
      name,
      number,
      world,
      plant,
      file,
      url: slot.way.url,
      ownClient: number % 2 === 1,
      protocol: number % 4 === 1 ? 2 : 3,
      registerUrl,
    });
    slot.worker = worker;
    void worker.exited.then(() => {
      if (this.ending.has(worker)) return;
      recorder.record({ type: 'exited', of: name, byItself: false });
      slot.done = true;
    });
    await worker.once('ready', 60_000);
    recorder.record({ type: 'started', of: name });
    slot.done = false;
    worker.on('done', () => (slot.done = true));
    worker.send('run', { operations: Math.max(0, rest) });
  }

  /** Shuts the process down like an application. */
  private async close(worker: Worker): Promise<void> {
    this.ending.add(worker);
    if (!worker.alive) return;
    worker.send('close', { drainTimeoutMs: DRAIN_MS });
    const late = new AbortController();
    const timer = sleep(EXITS_WITHIN_MS, false, { signal: late.signal }).catch(() => false);
    const byItself = await Promise.race([worker.exited.then(() => true), timer]);
    late.abort();
    if (!byItself) await worker.kill();
    this.parts.recorder.record({ type: 'exited', of: worker.settings.name, byItself });
  }

  private fileOf(name: string): string {
    return join(this.parts.folder, `${name}.jsonl`);
  }

  private async sizeOf(name: string | undefined): Promise<number> {
    return name === undefined ? 0 : (await stat(this.fileOf(name))).size;
  }

  private async operationsOf({ names }: Slot): Promise<number> {
    const texts = await Promise.all(names.map((name) => readFile(this.fileOf(name), 'utf8')));
    return texts.reduce((sum, text) => sum + text.split('"type":"ask"').length - 1, 0);
  }
}
