import { type DynamicModule, Module } from '@nestjs/common';

import type { LockModuleOptions } from '../nest/module/lock-module-options.js';
import type { LockRuntime } from '../locks/lock-runtime.js';
import { lockModule } from '../nest/module/lock.module.js';
import { LOCK_MODULE_OPTIONS, LOCK_RUNTIME } from '../nest/tokens.js';
import { TestLocks } from './test-locks.js';

/**
 * Replaces `LockModule` in a test: `@DistributeLock` and `LockService` use {@link TestLocks}.
 *
 * @example
 * ```ts
 * const module = await Test.createTestingModule({
 *   imports: [LockTestingModule.forRoot()],
 *   providers: [StockService],
 * }).compile();
 * const locks = module.get(TestLocks);
 * ```
 * @public
 */
@Module({})
export class LockTestingModule {
  /**
   * @param options - module options that the test depends on; of `connection` and `connections` only the names matter
   * @param locks - pass the same locks to several applications to share them
   */
  static forRoot(options: Partial<LockModuleOptions> = {}, locks: TestLocks = new TestLocks()): DynamicModule {
    const given = [{ provide: LOCK_MODULE_OPTIONS, useValue: { connection: 'memory', ...options } }];
    const replacements = [
      { provide: TestLocks, useValue: locks },
      { provide: LOCK_RUNTIME, useValue: locks satisfies LockRuntime },
    ];
    return lockModule(given, Object.keys(options.connections ?? {}), [], replacements);
  }
}
