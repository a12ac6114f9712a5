import { setTimeout as delay } from 'node:timers/promises';

import { EMPTY_BOARD, withReport } from '../jobs/job-board.js';
import type { ChildReport, ChildRequest, ControlRequest, DemoState } from '../process/parent.js';
import { portSetting } from '../settings/demo-settings.js';
import { wholeNumber } from '../settings/whole-number.js';
import { banner, instanceName } from './banner.js';
import { DemoChild } from './child-process.js';
import { type LockSource, lockSource } from './lock-source.js';
import type { Topology } from './topology.js';

interface ReadyProcess {
  readonly port: number;
  readonly ports: readonly number[];
}

/** A process with its instances: one, or all of them where they share the memory of one process. */
interface InstanceProcess {
  readonly names: readonly string[];
  child: DemoChild<ReadyProcess>;
  ports: readonly number[];
  /** It ends and starts again, so its end is not the end of the demo. */
  restarting: boolean;
}

const REDIS_PAUSE_MS = 5_000;
const RESTARTS_AFTER_MS = 3_000;

/** Starts the processes of the demo, and ends all that it started. */
export class Starter {
  private readonly keepers: DemoChild<unknown>[] = [];
  private readonly processes: InstanceProcess[] = [];
  private source: LockSource | undefined;
  private redisPaused = false;
  private jobs = EMPTY_BOARD;
  private stopping = false;

  constructor(
    private readonly env: NodeJS.ProcessEnv,
    private readonly topology: Topology = 'single',
  ) {}

  /** Resolves when all processes run; rejects with a message for the user. */
  async start(): Promise<void> {
    const wanted = wholeNumber(this.env, { name: 'DEMO_INSTANCES', least: 1, most: 2, otherwise: 2 });
    const firstPort = portSetting(this.env, 65_536 - wanted);
    this.source = await lockSource(this.env, (keeper) => this.keepers.push(keeper), this.topology);
    const names = Array.from({ length: wanted }, (_, index) => instanceName(index));
    const groups = this.source.connection === 'memory' ? [names] : names.map((name) => [name]);
    for (const [index, group] of groups.entries()) {
      if (this.stopping) return;
      const child = this.fork(group, firstPort === 0 ? 0 : firstPort + index);
      this.processes.push({ names: group, child, ports: [], restarting: false });
    }
    await Promise.all(this.processes.map((each) => this.ready(each)));
    if (this.stopping) return;
    console.log(
      banner(
        this.source.description,
        this.processes.flatMap(({ ports }) => ports.map((port) => this.url(port))),
      ),
    );
    const { keeper } = this.source;
    if (keeper) this.announce(keeper, 'The private redis-server has ended; requests with locks get 503 from now on.');
  }

  /** Ends the instances first, so that they can release their locks while Redis still runs. */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.processes.map(({ child }) => child.stop()));
    await Promise.all(this.keepers.map((keeper) => keeper.stop()));
  }

  /** Resolves when no instance is left. */
  async finished(): Promise<void> {
    while (this.processes.some(({ child, restarting }) => child.running || restarting)) {
      const running = this.processes.filter(({ child }) => child.running);
      if (running.length > 0) await Promise.race(running.map(({ child }) => child.exited));
      else await delay(RESTARTS_AFTER_MS);
    }
  }

  private fork(names: readonly string[], port: number): DemoChild<ReadyProcess> {
    const env = {
      ...this.env,
      REDIS_URL: this.source!.connection,
      DEMO_INSTANCE: names[0],
      DEMO_SHARED: names.length > 1 ? names.join(',') : '',
      PORT: String(port),
    };
    const child = DemoChild.start<ReadyProcess>('main.js', { env });
    // A job may run before the instance is ready.
    child.listen((message) => this.received(message as ChildRequest | ChildReport<ReadyProcess>));
    return child;
  }

  private async ready(each: InstanceProcess): Promise<void> {
    const { child, names } = each;
    each.ports = (await child.ready).ports;
    this.announce(child, `Instance ${names.join(' and ')} has ended.`);
    void child.exited.then(() => {
      for (const instance of names) this.jobs = withReport(this.jobs, { type: 'leads-no-more', instance });
      this.share();
    });
    this.share();
  }

  private received(message: ChildRequest | ChildReport<ReadyProcess>): void {
    if (message.type === 'ready' || message.type === 'failed') return;
    if (message.type !== 'job') return void this.control(message);
    this.jobs = withReport(this.jobs, message.report);
    this.share();
  }

  /** The page may stop and start instances, and pause the private Redis; all of them were started here. */
  private async control(request: ControlRequest): Promise<void> {
    if (this.stopping) return;
    if (request.type === 'pause-redis') return this.pauseRedis();
    const each = this.processes.find(({ names }) => names.includes(request.instance));
    if (each === undefined || each.restarting) return;
    if (request.type === 'stop') return each.child.crash();
    if (request.type === 'start' && each.child.running) return;
    each.restarting = true;
    await each.child.crash();
    if (request.type === 'restart') await delay(RESTARTS_AFTER_MS);
    if (!this.stopping) await this.startAgain(each);
    each.restarting = false;
  }

  private async startAgain(each: InstanceProcess): Promise<void> {
    each.child = this.fork(each.names, each.ports[0]);
    try {
      await this.ready(each);
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
    }
  }

  private async pauseRedis(): Promise<void> {
    const { keeper } = this.source!;
    if (keeper === undefined || this.redisPaused) return;
    keeper.send({ pauseMs: REDIS_PAUSE_MS });
    this.redisPaused = true;
    this.share();
    await delay(REDIS_PAUSE_MS, undefined, { ref: false });
    this.redisPaused = false;
    this.share();
  }

  /** Sends the state of the demo to the instances, for the page. */
  private share(): void {
    const { connection, keeper } = this.source!;
    const shared = this.processes.some(({ names }) => names.length > 1);
    const state: DemoState = {
      instances: this.processes.flatMap(({ names, ports, child }) =>
        names.map((name, index) => ({ name, url: this.url(ports[index] ?? 0), running: child.running })),
      ),
      redis: connection === 'memory' ? 'memory' : keeper === undefined ? 'given' : 'private',
      redisPaused: this.redisPaused,
      shared,
      jobs: this.jobs,
    };
    for (const { child } of this.processes) if (child.running) child.send({ state });
  }

  /** Reports a process that ends: the reaction of the other instance is part of the demo. */
  private announce(child: DemoChild<unknown>, message: string): void {
    void child.exited.then(() => {
      if (!this.stopping) console.error(message);
    });
  }

  private url(port: number): string {
    const host = this.env.HOST || '127.0.0.1';
    if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }
}
