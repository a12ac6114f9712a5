import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';

import { LockConfigurationError } from '../../errors.js';
import { askedConnections, lockServiceToken } from '../decorators/inject-lock-service.decorator.js';
import { LOCK_MODULE_OPTIONS } from '../tokens.js';
import type { LockModuleAsyncOptions, LockModuleOptions, LockModuleOptionsFactory } from './lock-module-options.js';
import { lockExports, lockProviders, providersForCopies, serviceProvider } from './lock.providers.js';

/**
 * Brings locks into the application: `@DistributeLock` and `LockService`. Import it once, in the root module; it is global.
 *
 * Call `app.enableShutdownHooks()`, or locks that are held at SIGTERM end only with their ttl.
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
   * The application does not start when an option is wrong (`LockConfigurationError`) or a connection cannot be had
   * (`LockUnavailableError`, unless `connectOnBoot` is false).
   */
  static forRoot(options: LockModuleOptions): DynamicModule {
    const names = Object.keys(options?.connections ?? {});
    return lockModule([{ provide: LOCK_MODULE_OPTIONS, useValue: options }], names);
  }

  /**
   * Like {@link LockModule.forRoot}, with options that other providers have a part in.
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
    return lockModule(optionsProviders(given), [], given.imports);
  }
}

/** The parts of the module; the testing kit adds providers that take the place of others. @internal */
export function lockModule(
  options: readonly Provider[],
  connectionNames: readonly string[],
  imports: DynamicModule['imports'] = [],
  instead: readonly Provider[] = [],
): DynamicModule {
  // Nest reads this when it scans the application. By then every class has said which connection it injects, while the
  // options of `forRootAsync` are still to be made.
  const names = (): string[] => [...new Set([...connectionNames, ...askedConnections()])];
  return {
    module: LockModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    get providers() {
      return [...options, ...lockProviders, ...names().map(serviceProvider), ...providersForCopies(), ...instead];
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
