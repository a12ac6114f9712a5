import type { InjectionToken, ModuleMetadata, OptionalFactoryDependency, Type } from '@nestjs/common';

import type { LockConnection, LocksOptions } from '../../locks/locks-options.js';
import type { LockErrorMappers } from '../aspect/error-mapping.js';

/** Options of `LockModule`. @public */
export interface LockModuleOptions extends LocksOptions {
  /**
   * Further connections by name, selected by `connectionName` in `@DistributeLock` and by `@InjectLockService(name)`.
   * @defaultValue none
   */
  readonly connections?: Readonly<Record<string, LockConnection | undefined>>;
  /**
   * Whether the application fails to start when a connection fails.
   * @defaultValue `true`
   */
  readonly connectOnBoot?: boolean;
  /**
   * HTTP status of the response when another caller holds the lock, 400 to 499, or 503 for a limit of the server.
   * @defaultValue `409`
   */
  readonly contendedStatus?: number;
  /**
   * Whether the waits of decorated methods in an HTTP request end when its client closes the connection, or cancels the request with
   * HTTP/2. A free lock is still acquired, so later steps of the request continue. Calls of `LockService` end only by their `signal`.
   * GraphQL resolvers are not affected.
   * @defaultValue `true`
   */
  readonly abortOnDisconnect?: boolean;
  /**
   * Custom exceptions for lock errors of requests, by code, on every transport. The value that the function returns, resolves
   * with or throws is thrown unchanged; with `undefined` the module maps the error. `Retry-After` is set in either case, and also for an exception of
   * `onContended` whose `cause` is the lock error. Plain
   * providers, cron jobs and listeners reject with the `LockError` itself.
   * @defaultValue none; the exception of each transport, with `code`, `message` and `retryAfterMs`
   * @example
   * ```ts
   * errors: { LOCK_CONTENDED: (error) => new OrderIsBusyException(error.retryAfterMs) }
   * ```
   */
  readonly errors?: LockErrorMappers;
}

/** A provider that creates the options, for `useClass` and `useExisting`. @public */
export interface LockModuleOptionsFactory {
  createLockModuleOptions(): LockModuleOptions | Promise<LockModuleOptions>;
}

/** Options of `LockModule.forRootAsync`: one of `useFactory`, `useClass` and `useExisting`. @public */
export interface LockModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Creates the options from the providers in `inject`. */
  // `any[]` accepts functions with narrower parameters.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly useFactory?: (...args: any[]) => LockModuleOptions | Promise<LockModuleOptions>;
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[];
  /** A class that creates the options; the module creates its instance. */
  readonly useClass?: Type<LockModuleOptionsFactory>;
  /** An existing provider that creates the options. */
  readonly useExisting?: InjectionToken<LockModuleOptionsFactory>;
}
