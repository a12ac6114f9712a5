import type { Server } from 'node:net';

import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost, ModulesContainer } from '@nestjs/core';

import { LockConfigurationError, LockUnavailableError } from '../../errors.js';
import type { DrainState } from '../../engine/shutdown.js';
import type { LockEngine } from '../../engine/lock-engine.js';
import { stopLeaders } from '../../locks/leader.js';
import { LeaderExplorer } from '../aspect/leader.explorer.js';
import { LockExplorer } from '../aspect/lock.explorer.js';
import { LOCK_ENGINES, LOCK_MODULE_OPTIONS, LOCK_SETTINGS } from '../tokens.js';
import { connectionOption } from './lock-runtime.js';
import type { LockSettings } from './resolve-module-options.js';

const logger = new Logger('LockModule');

/** How often the drain checks whether a watcher restarts the application. */
const WATCHER_MS = 100;
/** Locks that a line of the log names. */
const MOST_SHOWN = 10;

/**
 * Connects before the application accepts requests, drains when shutdown begins, and closes connections at the end. One provider
 * does all three, because Nest runs the hooks of different providers concurrently.
 */
@Injectable()
export class LockLifecycle implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private closing: Promise<unknown> | undefined;
  private ends = 0;
  private readonly parent = process.ppid;

  constructor(
    @Inject(LOCK_ENGINES) private readonly engines: ReadonlyMap<string, LockEngine>,
    @Inject(LOCK_SETTINGS) private readonly settings: LockSettings,
    @Inject(LockExplorer) private readonly explorer: LockExplorer,
    @Inject(LeaderExplorer) private readonly leaders: LeaderExplorer,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  /**
   * @throws LockConfigurationError when a lock or an injection cannot work
   * @throws LockUnavailableError when a connection fails
   */
  async onModuleInit(): Promise<void> {
    try {
      this.checkSingleModule();
      this.explorer.explore();
      if (!this.settings.connectOnBoot) return;
      await Promise.all(Array.from(this.engines, ([name, engine]) => connect(name, engine)));
    } catch (error) {
      // Nest does not call shutdown hooks if the start failed.
      await this.close();
      throw error;
    }
  }

  /** @throws LockConfigurationError when options that a function computes from an instance are wrong */
  async onApplicationBootstrap(): Promise<void> {
    try {
      this.explorer.checkInstances();
      this.leaders.start();
      const names = Array.from(
        this.engines,
        ([name, { processName }]) => `"${processName}" on "${connectionOption(name)}"`,
      );
      logger.log(`The name of this process in LockService.inspect is ${names.join(' and ')}.`);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Leaders end their terms when the shutdown begins, so that other instances lead at once. The drain waits for their work. */
  onModuleDestroy(): void {
    for (const engine of this.engines.values()) stopLeaders(engine);
  }

  /** Each of the two ends of Nest's order of hooks calls it once; the second call drains. */
  endReached(): Promise<void> | undefined {
    this.ends += 1;
    return this.ends % 2 === 0 ? this.drain() : undefined;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  /** Rejects new calls and waiters at once, and waits for held leases up to `drainTimeout`. */
  private async drain(): Promise<void> {
    this.onModuleDestroy();
    for (const engine of this.engines.values()) engine.refuse();
    this.freePortForWatcher();
    // Timers of locks are unref'ed: without this timer the process could exit before the drain ends.
    const alive = setInterval(() => this.freePortForWatcher(), WATCHER_MS);
    try {
      await Promise.all(
        Array.from(this.engines.values(), (engine) =>
          engine.drain(this.settings.drainTimeoutMs, (state) => this.reportDrain(state)),
        ),
      );
    } finally {
      clearInterval(alive);
    }
  }

  /**
   * Stops accepting connections when the parent process has ended. `nest start --watch` ends the shell around this process, and
   * starts the next process on the same port at once. Running requests continue, and Nest still waits for them.
   */
  private freePortForWatcher(): void {
    if (process.ppid === this.parent) return;
    const adapter = this.host.httpAdapter as HttpAdapterHost['httpAdapter'] | null | undefined;
    const server = adapter?.getHttpServer() as Partial<Server> | undefined;
    if (server?.listening === true) server.close?.();
  }

  private reportDrain({ held, over }: DrainState): void {
    const locks = held.length === 1 ? '1 lock' : `${held.length} locks`;
    const shown = [...held].sort((one, other) => other.heldMs - one.heldMs).slice(0, MOST_SHOWN);
    const names = shown.map(({ name, heldMs }) => `${name} (held for ${inSeconds(heldMs)})`).join(', ');
    const list = held.length > MOST_SHOWN ? `${names} and others` : names;
    if (!over) {
      logger.log(`The shutdown waits up to ${inSeconds(this.settings.drainTimeoutMs)} for ${locks}: ${list}.`);
    } else {
      logger.warn(
        `${locks} ${held.length === 1 ? 'is' : 'are'} still held after ${inSeconds(this.settings.drainTimeoutMs)}: ${list}. ` +
          'Each key stays locked until its ttl ends, unless the work ends before the connections close.',
      );
    }
  }

  private close(): Promise<unknown> {
    return (this.closing ??= Promise.all(Array.from(this.engines.values(), (engine) => engine.close())));
  }

  /** With two modules it would be undefined whose aspect Nest injects. */
  private checkSingleModule(): void {
    const roots = [...this.modules.values()].filter((module) => module.providers.has(LOCK_MODULE_OPTIONS));
    if (roots.length < 2) return;
    throw new LockConfigurationError(
      `LockModule.forRoot() is imported ${roots.length} times in this application. Keep one import, or pass the same options to each. Further Redis servers belong to option "connections".`,
    );
  }
}

const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

async function connect(name: string, engine: LockEngine): Promise<void> {
  try {
    await engine.connect();
    void advise(name, engine);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LockUnavailableError(
      `The "${connectionOption(name)}" of LockModule cannot be used: ${reason} Set "connectOnBoot" to false to start without it.`,
      { cause },
    );
  }
}

/** Logs warnings about the server. It runs in the background, so it neither delays nor prevents the start. */
async function advise(name: string, engine: LockEngine): Promise<void> {
  const advice = await engine.advice().catch(() => []);
  for (const sentence of advice) logger.warn(`The "${connectionOption(name)}" of LockModule: ${sentence}`);
}
