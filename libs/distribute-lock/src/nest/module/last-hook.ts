import { type BeforeApplicationShutdown, Inject, Module } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';

import { LockLifecycle } from './lock-lifecycle.js';

/**
 * Drains after the `beforeApplicationShutdown` hooks of all other modules, so that locks work during a grace period of the application.
 * Nest calls the hooks in the order of the modules' distances: Nest 10 begins with the largest distance, later releases with the
 * smallest. One module is at each end, and the second of their hooks drains. Nest logs the name of the class at the start.
 */
@Module({})
class LockShutdown implements BeforeApplicationShutdown {
  constructor(
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(LockLifecycle) private readonly lifecycle: LockLifecycle,
  ) {
    const [first, last] = [...modules.values()].filter(({ metatype }) => metatype === new.target);
    first.distance = -Infinity;
    last.distance = Infinity;
  }

  beforeApplicationShutdown(): Promise<void> | undefined {
    return this.lifecycle.endReached();
  }
}

/** The imports of `LockModule` that call {@link LockLifecycle.endReached}: two modules, because only one of them is static. */
export const endsOfOrder = [LockShutdown, { module: LockShutdown, providers: [] }];
