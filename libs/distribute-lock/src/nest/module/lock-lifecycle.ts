import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';

import { LockConfigurationError, LockUnavailableError } from '../../errors.js';
import type { LockCore } from '../../queue/lock-core.js';
import { LockExplorer } from '../aspect/lock.explorer.js';
import { LOCK_CORES, LOCK_MODULE_OPTIONS, LOCK_SETTINGS } from '../tokens.js';
import { connectionOption } from './lock-runtime.js';
import type { LockSettings } from './resolve-module-options.js';

const logger = new Logger('LockModule');

const LONG_MS = 60_000;

/**
 * Connects before the application serves, drains when it is asked to stop, and closes at the very end. All in one
 * provider, because Nest runs the hooks of different providers side by side.
 */
@Injectable()
export class LockLifecycle implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown {
  private closing: Promise<unknown> | undefined;

  constructor(
    @Inject(LOCK_CORES) private readonly cores: ReadonlyMap<string, LockCore>,
    @Inject(LOCK_SETTINGS) private readonly settings: LockSettings,
    @Inject(LockExplorer) private readonly explorer: LockExplorer,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  /**
   * @throws LockConfigurationError when something is wired wrongly
   * @throws LockUnavailableError when a connection cannot be had
   */
  async onModuleInit(): Promise<void> {
    try {
      this.checkAlone();
      this.explorer.explore();
      if (!this.settings.connectOnBoot) return;
      await Promise.all(Array.from(this.cores, ([name, core]) => connect(name, core)));
    } catch (error) {
      // Nest does not call the hooks of shutdown for an application that never started.
      await this.close();
      throw error;
    }
  }

  /** New locks and waiters are refused at once; locks whose work still runs are kept. */
  async beforeApplicationShutdown(): Promise<void> {
    for (const core of this.cores.values()) core.refuse();
    // Timers of locks keep no process alive; without a server or a connection it would end in the middle of this.
    const alive = setInterval(() => undefined, LONG_MS);
    try {
      await Promise.all(Array.from(this.cores.values(), (core) => core.drain(this.settings.drainTimeoutMs)));
    } finally {
      clearInterval(alive);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  private close(): Promise<unknown> {
    return (this.closing ??= Promise.all(Array.from(this.cores.values(), (core) => core.close())));
  }

  /** Two modules would each inject their own aspect, and nobody could say which. */
  private checkAlone(): void {
    const roots = [...this.modules.values()].filter((module) => module.providers.has(LOCK_MODULE_OPTIONS));
    if (roots.length < 2) return;
    throw new LockConfigurationError(
      `LockModule.forRoot() stands ${roots.length} times in this application. Keep one, and give it further Redis servers as option "connections".`,
    );
  }
}

async function connect(name: string, core: LockCore): Promise<void> {
  try {
    await core.connect();
    void advise(name, core);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LockUnavailableError(
      `The "${connectionOption(name)}" of LockModule cannot be used: ${reason} To start without it, set "connectOnBoot" to false.`,
      { cause },
    );
  }
}

/** Nobody waits for it: it is no reason to start later, or not at all. */
async function advise(name: string, core: LockCore): Promise<void> {
  const advice = await core.advice().catch(() => []);
  for (const sentence of advice) logger.warn(`The "${connectionOption(name)}" of LockModule: ${sentence}`);
}
