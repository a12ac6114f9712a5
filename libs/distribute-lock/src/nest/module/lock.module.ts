import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';

import { LockConfigurationError } from '../../errors.js';
import { requestedConnections, lockServiceToken } from '../decorators/inject-lock-service.decorator.js';
import { LOCK_MODULE_OPTIONS } from '../tokens.js';
import { endsOfOrder } from './last-hook.js';
import type { LockModuleAsyncOptions, LockModuleOptions, LockModuleOptionsFactory } from './lock-module-options.js';
import { sameModule } from './same-module.js';
import { lockExports, lockProviders, providersForCopies, serviceProvider } from './lock.providers.js';

/**
 * Provides `@DistributeLock` and `LockService`. Import it once, in the root module; it is global.
 *
 * Call `app.enableShutdownHooks()`. Without it, locks held at SIGTERM stay locked until their `ttl` has passed.
 *
 * @example
 * ```ts
 * @Module({ imports: [LockModule.forRoot({ connection: process.env.REDIS_URL })] })
 * export class AppModule {}
 * ```
 * @public
 */
@Module({})
export class LockModule {
  /**
   * The application fails to start when an option is invalid (`LockConfigurationError`), or when a connection fails
   * (`LockUnavailableError`, unless `connectOnBoot` is false). A feature module may import it again with equal options.
   */
  static forRoot(options: LockModuleOptions): DynamicModule {
    const names = Object.keys(options?.connections ?? {});
    return sameModule({ options }, () => lockModule([{ provide: LOCK_MODULE_OPTIONS, useValue: options }], names));
  }

  /**
   * Like {@link LockModule.forRoot}, with options that depend on other providers.
   *
   * @throws LockConfigurationError when not exactly one of `useFactory`, `useClass` and `useExisting` is given
   *
   * @example
   * ```ts
   * LockModule.forRootAsync({
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({ connection: config.getOrThrow('REDIS_URL') }),
   * })
   * ```
   */
  static forRootAsync(options: LockModuleAsyncOptions): DynamicModule {
    const given = options ?? {}; // callers without types
    return sameModule({ asynchronous: given }, () => lockModule(optionsProviders(given), [], given.imports));
  }
}

/** Assembles the module; the testing kit passes providers that replace others. @internal */
export function lockModule(
  options: readonly Provider[],
  connectionNames: readonly string[],
  imports: DynamicModule['imports'] = [],
  replacements: readonly Provider[] = [],
): DynamicModule {
  // Nest reads these getters when it scans the application: all classes have registered the connections that they inject, but
  // the options of `forRootAsync` do not exist yet.
  const names = (): string[] => [...new Set([...connectionNames, ...requestedConnections()])];
  return {
    module: LockModule,
    global: true,
    imports: [DiscoveryModule, ...endsOfOrder, ...imports],
    get providers() {
      return [...options, ...lockProviders, ...names().map(serviceProvider), ...providersForCopies(), ...replacements];
    },
    get exports() {
      return [...lockExports, ...names().map(lockServiceToken), ...providersForCopies().map(({ provide }) => provide)];
    },
  };
}

function optionsProviders({ useFactory, useClass, useExisting, inject = [] }: LockModuleAsyncOptions): Provider[] {
  if ([useFactory, useClass, useExisting].filter((source) => source !== undefined).length !== 1) {
    throw new LockConfigurationError('LockModule.forRootAsync() needs one of useFactory, useClass and useExisting.');
  }
  if (useFactory !== undefined) return [{ provide: LOCK_MODULE_OPTIONS, useFactory, inject }];
  const maker = useClass ?? useExisting!;
  const made: Provider = {
    provide: LOCK_MODULE_OPTIONS,
    useFactory: (factory: LockModuleOptionsFactory) => factory.createLockModuleOptions(),
    inject: [maker],
  };
  return useClass === undefined ? [made] : [useClass, made];
}
