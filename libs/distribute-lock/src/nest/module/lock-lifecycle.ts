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

import { LockConfigurationError } from '../../errors.js';
import type { LockEngine } from '../../engine/lock-engine.js';
import { stopLeaders } from '../../locks/leader.js';
import { LeaderExplorer } from '../aspect/leader.explorer.js';
import { LockExplorer } from '../aspect/lock.explorer.js';
import { LOCK_ENGINES, LOCK_MODULE_OPTIONS, LOCK_SETTINGS } from '../tokens.js';
import type { Door } from '../../locks/door.js';
import { drainReport } from '../../locks/drain-report.js';
import { connectEngine, connectionOption } from '../../locks/lock-runtime.js';
import type { LockSettings } from './resolve-module-options.js';

const logger = new Logger('LockModule');

/** How messages and the log name this module. */
export const moduleDoor: Door = { name: 'LockModule', log: logger };

/** How often the drain checks whether a watcher restarts the application. */
const WATCHER_MS = 100;

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
      await Promise.all(
        Array.from(this.engines, ([name, engine]) =>
          connectEngine(name, engine, moduleDoor, ' Set "connectOnBoot" to false to start without it.'),
        ),
      );
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
    const { drainTimeoutMs } = this.settings;
    this.onModuleDestroy();
    for (const engine of this.engines.values()) engine.refuse();
    this.freePortForWatcher();
    // Timers of locks are unref'ed: without this timer the process could exit before the drain ends.
    const alive = setInterval(() => this.freePortForWatcher(), WATCHER_MS);
    try {
      await Promise.all(
        Array.from(this.engines.values(), (engine) =>
          engine.drain(drainTimeoutMs, drainReport(logger, drainTimeoutMs)),
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

  private close(): Promise<unknown> {
    return (this.closing ??= Promise.all(Array.from(this.engines.values(), (engine) => engine.close())));
  }

  /** With two modules it would be undefined whose aspect Nest injects. */
  private checkSingleModule(): void {
    const roots = [...this.modules.values()].filter((module) => module.providers.has(LOCK_MODULE_OPTIONS));
    if (roots.length < 2) return;
    throw new LockConfigurationError(
      `LockModule.forRoot() is imported ${roots.length} times. Keep one, or pass the same options to each; name further servers in "connections".`,
    );
  }
}
