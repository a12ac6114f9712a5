import { Controller, type DynamicModule, Logger, Module, type Provider, UseGuards } from '@nestjs/common';

import {
  asyncOptions,
  checkDashboardOptions,
  type LockDashboardAsyncOptions,
  type LockDashboardOptions,
} from './dashboard-options.js';
import { DashboardController } from './dashboard.controller.js';
import { DASHBOARD_OPTIONS, LockDashboard } from './lock-dashboard.js';
import { LoopbackGuard } from './loopback.guard.js';

/**
 * Serves a page that shows the locks of all instances at work. It needs `LockModule` in the same application.
 *
 * Nothing is recorded and no message is sent while no page is open.
 *
 * @example
 * ```ts
 * @Module({
 *   imports: [
 *     LockModule.forRoot({ connection: process.env.REDIS_URL }),
 *     LockDashboardModule.forRoot({ guard: OperatorGuard }),
 *   ],
 * })
 * export class AppModule {}
 * ```
 * @public
 */
@Module({})
export class LockDashboardModule {
  /**
   * With `guard: 'loopback'` and `NODE_ENV=production`, the module serves nothing and logs a warning.
   *
   * @throws LockConfigurationError when an option is invalid, or without a guard
   */
  static forRoot(options: LockDashboardOptions): DynamicModule {
    checkDashboardOptions(options);
    return dashboardModule(options, { provide: DASHBOARD_OPTIONS, useValue: options });
  }

  /**
   * Like {@link LockDashboardModule.forRoot}, with options that depend on other providers. Nest needs `guard`, `path` and `imports` before
   * it creates providers, so these three are not from the factory.
   *
   * @throws LockConfigurationError when an option is invalid, or without a guard or factory
   *
   * @example
   * ```ts
   * LockDashboardModule.forRootAsync({
   *   guard: OperatorGuard,
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({ instance: config.get('POD_NAME') }),
   * })
   * ```
   */
  static forRootAsync(options: LockDashboardAsyncOptions): DynamicModule {
    const { fixed, provider } = asyncOptions(options ?? {}); // callers without types
    return dashboardModule(fixed, { provide: DASHBOARD_OPTIONS, ...provider });
  }
}

function dashboardModule(options: LockDashboardOptions, provider: Provider): DynamicModule {
  return {
    module: LockDashboardModule,
    imports: options.imports ?? [],
    controllers: controllers(options),
    providers: [LockDashboard, provider],
    exports: [LockDashboard],
  };
}

function controllers({ guard, path = 'locks' }: LockDashboardOptions): NonNullable<DynamicModule['controllers']> {
  if (guard === 'loopback' && process.env['NODE_ENV'] === 'production') {
    new Logger('LockDashboardModule').warn(
      'The page of locks is not served: guard "loopback" is for development, and NODE_ENV is "production". Pass a guard class.',
    );
    return [];
  }
  class PathController extends DashboardController {}
  Controller(path)(PathController);
  UseGuards(guard === 'loopback' ? LoopbackGuard : guard)(PathController);
  return [PathController];
}
