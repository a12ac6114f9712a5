import { type BeforeApplicationShutdown, Inject, Module } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';

import { LockLifecycle } from './lock-lifecycle.js';

/**
 * Drains after the `beforeApplicationShutdown` hooks of all other modules, so that locks work during a grace period of the application.
 * Nest calls the hooks in the order of the modules' distances: Nest 10 begins with the largest distance, later releases with the
 * smallest. One module is at each end, and the second of their hooks drains.
 */
class EndOfOrder implements BeforeApplicationShutdown {
  constructor(
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(LockLifecycle) private readonly lifecycle: LockLifecycle,
  ) {
    for (const module of modules.values()) {
      if (module.metatype === LargestDistance) module.distance = Infinity;
      if (module.metatype === SmallestDistance) module.distance = -Infinity;
    }
  }

  beforeApplicationShutdown(): Promise<void> | undefined {
    return this.lifecycle.endReached();
  }
}

@Module({})
class LargestDistance extends EndOfOrder {}

@Module({})
class SmallestDistance extends EndOfOrder {}

/** The imports of `LockModule` that call {@link LockLifecycle.endReached}. */
export const endsOfOrder = [LargestDistance, SmallestDistance];
