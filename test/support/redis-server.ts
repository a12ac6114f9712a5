import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Child, type ChildExit } from './child.js';
import { onCleanup } from './cleanup.js';
import { within } from './eventually.js';
import { freePort } from './free-port.js';
import { redisServerBinary } from './redis-binary.js';

export interface RedisServerOptions {
  /**
   * Settings as in redis.conf, for example `{ maxmemory: '2mb', appendonly: 'yes' }`. By default no data is kept on
   * disk.
   */
  readonly config?: Readonly<Record<string, string>>;
  /** Runs it as a Sentinel that watches no primary yet. */
  readonly sentinel?: boolean;
  /** Runs it as a node of a Cluster, with a free port for the Cluster bus. */
  readonly clusterNode?: boolean;
  /**
   * The port of a server that has ended.
   * @defaultValue a free port
   */
  readonly port?: number;
}

/** Ends a hang only. */
const STARTS_WITHIN_MS = 60_000;
/** A folder in memory, on Linux. */
const MEMORY_FOLDER = '/dev/shm';

/** Starts a private `redis-server` on a free loopback port; it ends with the spec file at the latest. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = await mkdtemp(join(parentFolder(options), 'redis-server-'));
  for (let attempt = 1; ; attempt += 1) {
    const busPort = options.clusterNode ? await freePort() : undefined;
    const server = new RedisServer(options.port ?? (await freePort()), busPort, folder, options);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      // another process may have taken one of its ports
      if (attempt === 5 || !String(error).includes('Address already in use')) throw error;
    }
  }
}

/**
 * A Sentinel calls `fsync` three times for each change of its state. When that takes 2 s on a busy disk, it enters TILT mode and
 * does nothing for 30 s.
 */
function parentFolder({ sentinel = false }: RedisServerOptions): string {
  return sentinel && existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir();
}

/** A private `redis-server`, which tests may stop, flush and reconfigure. */
export class RedisServer {
  private readonly forget = onCleanup(() => this.stop());
  private child: Child | undefined;

  constructor(
    readonly port: number,
    /** The port of the Cluster bus; the default, 10,000 above the port, may be invalid. */
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

  /** What the server has printed since its last start. */
  get log(): string {
    return this.started().output;
  }

  /** Starts the server with the data in its folder. */
  async start(): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    const { config, sentinel = false } = this.options;
    const bus = this.busPort === undefined ? {} : { 'cluster-enabled': 'yes', 'cluster-port': this.busPort };
    const settings = { bind: '127.0.0.1', port: this.port, dir: this.folder, save: '', ...bus, ...config };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    if (sentinel) args.unshift(await this.sentinelFile(), '--sentinel');
    // Lua sorts text by the language of the user otherwise.
    const env = { ...process.env, LC_ALL: 'C' };
    const child = new Child(spawn(redisServerBinary(), args, { env, stdio: ['ignore', 'pipe', 'pipe'] }));
    this.child = child;
    const ready = sentinel ? 'Sentinel ID is' : 'Ready to accept connections';
    await within(STARTS_WITHIN_MS, 'the start of redis-server', child.printed(ready));
    const answer = this.run((redis) => redis.info('server'));
    const info = await within(STARTS_WITHIN_MS, 'the first answer of redis-server', answer);
    if (!info.includes(`process_id:${child.pid}\r\n`)) throw new Error(`Another Redis responds on port ${this.port}`);
  }

  /** Kills the server, by default without a clean shutdown; `restart()` starts it again. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ChildExit> {
    return this.started().kill(signal);
  }

  /** SIGSTOP: connections stay open, and the server does not respond. */
  pause(): void {
    this.started().pause();
  }

  resume(): void {
    this.started().resume();
  }

  /** Other work of the machine interrupts the server less often, where this process may raise priorities. */
  prefer(): void {
    try {
      setPriority(this.started().pid, -15);
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_SYSTEM_ERROR') throw error;
    }
  }

  /** Kills the server if it still runs, and restarts it on the same port, `empty` or with its data. */
  async restart({ empty = true } = {}): Promise<void> {
    const child = this.started();
    if (!empty && child.alive) await this.run((redis) => redis.save());
    await child.kill();
    if (empty) await rm(this.folder, { recursive: true, force: true });
    await this.start();
  }

  /** Ends the server permanently. */
  async stop(): Promise<void> {
    this.forget();
    await this.child?.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Runs commands over a separate connection. */
  async run<T>(commands: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
    redis.on('error', () => {}); // the command itself rejects
    try {
      return await commands(redis);
    } finally {
      redis.disconnect();
    }
  }

  /** A Sentinel stores its state in a file, and does not start without one. */
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
