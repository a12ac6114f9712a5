import { portSetting } from '../settings/demo-settings.js';
import { wholeNumber } from '../settings/whole-number.js';
import { banner, instanceName } from './banner.js';
import { DemoChild } from './child-process.js';
import { type LockSource, lockSource } from './lock-source.js';
import type { Topology } from './topology.js';

interface ReadyInstance {
  readonly port: number;
}

/** Starts the processes of the demo, and ends all that it started. */
export class Starter {
  private readonly keepers: DemoChild<unknown>[] = [];
  private readonly instances: DemoChild<ReadyInstance>[] = [];
  private stopping = false;

  constructor(
    private readonly env: NodeJS.ProcessEnv,
    private readonly topology: Topology = 'single',
  ) {}

  /** Resolves when all processes run; rejects with a message for the user. */
  async start(): Promise<void> {
    const wanted = wholeNumber(this.env, { name: 'DEMO_INSTANCES', least: 1, most: 2, otherwise: 2 });
    const firstPort = portSetting(this.env, 65_536 - wanted);
    const source = await lockSource(this.env, (keeper) => this.keepers.push(keeper), this.topology);
    const count = source.connection === 'memory' ? 1 : wanted;
    for (let index = 0; index < count && !this.stopping; index++) this.startInstance(source, index, firstPort);
    const ready = await Promise.all(this.instances.map((instance) => instance.ready));
    if (this.stopping) return;
    console.log(
      banner(
        source.description,
        ready.map(({ port }) => this.url(port)),
      ),
    );
    this.watch(source);
  }

  /** Ends the instances first, so that they can release their locks while Redis still runs. */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.instances.map((instance) => instance.stop()));
    await Promise.all(this.keepers.map((keeper) => keeper.stop()));
  }

  /** Resolves when no instance is left. */
  async finished(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.exited));
  }

  private startInstance({ connection }: LockSource, index: number, firstPort: number): void {
    const env = {
      ...this.env,
      REDIS_URL: connection,
      DEMO_INSTANCE: instanceName(index),
      PORT: String(firstPort === 0 ? 0 : firstPort + index),
    };
    this.instances.push(DemoChild.start<ReadyInstance>('main.js', { env }));
  }

  /** Reports a process that ends, and does not restart it: the reaction of the other instance is part of the demo. */
  private watch({ keeper }: LockSource): void {
    this.instances.forEach((instance, index) => this.announce(instance, `Instance ${instanceName(index)} has ended.`));
    if (keeper) this.announce(keeper, 'The private redis-server has ended; requests with locks get 503 from now on.');
  }

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
