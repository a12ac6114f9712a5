import type { CanActivate, InjectionToken, ModuleMetadata, OptionalFactoryDependency, Type } from '@nestjs/common';

import { LockConfigurationError } from '../errors.js';
import { checkFlag, checkNames } from '../options/values.js';

/**
 * Options of `LockDashboardModule`.
 * @public
 */
export interface LockDashboardOptions {
  /**
   * A guard class that decides about every request to the page, its assets and its data. `'loopback'` needs no guard: it serves
   * requests from this machine only, and nothing when `NODE_ENV` is `production`.
   */
  readonly guard: Type<CanActivate> | 'loopback';
  /** Modules with the dependencies of the guard. */
  readonly imports?: ModuleMetadata['imports'];
  /**
   * The route of the page, below the global prefix.
   * @defaultValue `'locks'`
   */
  readonly path?: string;
  /**
   * The name of this instance on the page.
   * @defaultValue the host name and the process id
   */
  readonly instance?: string;
  /**
   * Whether the page shows rendered keys, which may contain personal data. Without them it shows names and opaque ids.
   * @defaultValue `false`
   */
  readonly showKeys?: boolean;
  /**
   * Whether the page may end the leases of a lock, as `LockService.forceRelease` does.
   * @defaultValue `false`
   */
  readonly allowForceRelease?: boolean;
}

/**
 * Options of `LockDashboardModule.forRootAsync`.
 * @public
 */
export interface LockDashboardAsyncOptions extends Pick<LockDashboardOptions, 'guard' | 'path' | 'imports'> {
  /** Creates the other options from the providers in `inject`. */
  readonly useFactory: (
    // `any[]` accepts functions with narrower parameters.
    // oxlint-disable-next-line typescript/no-explicit-any
    ...args: any[]
  ) => LockDashboardSettings | Promise<LockDashboardSettings>;
  /** Providers that `useFactory` takes; `imports` must export them, or a global module. */
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[];
}

/** Options of `LockDashboardModule` that a factory may create. @public */
export type LockDashboardSettings = Pick<LockDashboardOptions, 'instance' | 'showKeys' | 'allowForceRelease'>;

const SETTINGS: Readonly<Record<keyof LockDashboardSettings, true>> = {
  instance: true,
  showKeys: true,
  allowForceRelease: true,
};

const FIXED: Readonly<Record<Exclude<keyof LockDashboardOptions, keyof LockDashboardSettings>, true>> = {
  guard: true,
  imports: true,
  path: true,
};

const KNOWN: Readonly<Record<keyof LockDashboardOptions, true>> = { ...FIXED, ...SETTINGS };

const PATH = /^[\w-]+(\/[\w-]+)*$/;

/**
 * Returns the static part of the options, and the factory of all options.
 * @throws LockConfigurationError naming the invalid option
 */
export function asyncOptions({ useFactory, inject = [], ...fixed }: LockDashboardAsyncOptions) {
  if (typeof useFactory !== 'function') {
    throw new LockConfigurationError('Option "useFactory" of LockDashboardModule must be a function.');
  }
  checkNames(fixed, { ...FIXED, inject: true, useFactory: true });
  checkDashboardOptions(fixed);
  const all = async (...args: unknown[]): Promise<LockDashboardOptions> => {
    const settings = await useFactory(...args);
    checkNames(settings, SETTINGS);
    const options = { ...fixed, ...settings };
    checkDashboardOptions(options);
    return options;
  };
  return { fixed, provider: { useFactory: all, inject } };
}

/** @throws LockConfigurationError naming the invalid option */
export function checkDashboardOptions(options: LockDashboardOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw new LockConfigurationError('The options of LockDashboardModule must be an object with a "guard".');
  }
  checkNames(options, KNOWN);
  const { guard, path = 'locks', instance = '-', showKeys = false, allowForceRelease = false } = options;
  if (guard !== 'loopback' && typeof guard !== 'function') {
    throw new LockConfigurationError(
      'Option "guard" of LockDashboardModule must be a guard class, or "loopback" for development on this machine.',
    );
  }
  if (typeof path !== 'string' || !PATH.test(path)) {
    throw new LockConfigurationError(
      `Option "path" is ${JSON.stringify(path)}, but it must be a route such as "locks" or "admin/locks".`,
    );
  }
  if (typeof instance !== 'string' || instance === '') {
    throw new LockConfigurationError('Option "instance" must be a non-empty string.');
  }
  checkFlag('showKeys', showKeys);
  checkFlag('allowForceRelease', allowForceRelease);
}
