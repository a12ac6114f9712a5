import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Child, type ChildExit } from './child.js';
import { onCleanup } from './cleanup.js';
import { within } from './eventually.js';
import { freePort } from './free-port.js';
import { redisServerBinary } from './redis-binary.js';

export interface RedisServerOptions {
  /** Settings as in redis.conf, for example `{ maxmemory: '2mb', appendonly: 'yes' }`; by default nothing is kept on disk. */
  readonly config?: Readonly<Record<string, string>>;
  /** Runs it as a Sentinel that watches nothing yet. */
  readonly sentinel?: boolean;
  /** Runs it as a node of a Cluster, with a free port for the others of it. */
  readonly clusterNode?: boolean;
}

const STARTS_WITHIN_MS = 10_000;

/** Starts a private `redis-server` on a free loopback port; it ends with the spec file at the latest. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'redis-server-'));
  for (let attempt = 1; ; attempt += 1) {
    const busPort = options.clusterNode ? await freePort() : undefined;
    const server = new RedisServer(await freePort(), busPort, folder, options);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      // somebody else may have taken one of its ports in the meantime
      if (attempt === 5 || !String(error).includes('Address already in use')) throw error;
    }
  }
}

/** A `redis-server` of our own, to be stopped, flushed and reconfigured at will. */
export class RedisServer {
  private readonly forget = onCleanup(() => this.stop());
  private child: Child | undefined;

  constructor(
    readonly port: number,
    /** Where the others of its Cluster speak to it; the default, 10 000 above the port, may not exist. */
    readonly busPort: number | undefined,
    private readonly folder: string,
    private readonly options: RedisServerOptions,
  ) {}

  get url(): string {
    const password = this.options.config?.['requirepass'];
    return `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.started().pid;
  }

  get alive(): boolean {
    return this.child?.alive === true;
  }

  /** Starts it with whatever its folder holds. */
  async start(): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    const { config, sentinel = false } = this.options;
    const bus = this.busPort === undefined ? {} : { 'cluster-enabled': 'yes', 'cluster-port': this.busPort };
    const settings = { bind: '127.0.0.1', port: this.port, dir: this.folder, save: '', ...bus, ...config };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    if (sentinel) args.unshift(await this.sentinelFile(), '--sentinel');
    const child = new Child(spawn(redisServerBinary(), args, { stdio: ['ignore', 'pipe', 'pipe'] }));
    this.child = child;
    const ready = sentinel ? 'Sentinel ID is' : 'Ready to accept connections';
    await within(STARTS_WITHIN_MS, 'the start of redis-server', child.printed(ready));
    const info = await this.run((redis) => redis.info('server'));
    if (!info.includes(`process_id:${child.pid}\r\n`)) throw new Error(`Another Redis answers on port ${this.port}`);
  }

  /** Ends it, by default without a chance to say goodbye; `restart()` brings it back. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ChildExit> {
    return this.started().kill(signal);
  }

  /** SIGSTOP: connections stay open, nothing is answered. */
  pause(): void {
    this.started().pause();
  }

  resume(): void {
    this.started().resume();
  }

  /** Kills it if it still runs, and starts it again on the same port: `empty`, or with the data it had. */
  async restart({ empty = true } = {}): Promise<void> {
    const child = this.started();
    if (!empty && child.alive) await this.run((redis) => redis.save());
    await child.kill();
    if (empty) await rm(this.folder, { recursive: true, force: true });
    await this.start();
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.forget();
    await this.child?.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** One command or a few, over a connection of its own. */
  async run<T>(commands: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
    redis.on('error', () => {}); // the command itself rejects
    try {
      return await commands(redis);
    } finally {
      redis.disconnect();
    }
  }

  /** A Sentinel keeps what it knows in a file, and does not start without one. */
  private async sentinelFile(): Promise<string> {
    const file = join(this.folder, 'sentinel.conf');
    await writeFile(file, '', { flag: 'a' });
    return file;
  }

  private started(): Child {
    if (this.child === undefined) throw new Error('redis-server was not started');
    return this.child;
  }
}
