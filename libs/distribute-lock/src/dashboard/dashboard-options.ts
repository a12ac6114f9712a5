import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';

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

const KNOWN: Readonly<Record<keyof LockDashboardOptions, true>> = {
  guard: true,
  imports: true,
  path: true,
  instance: true,
  showKeys: true,
  allowForceRelease: true,
};

const PATH = /^[\w-]+(\/[\w-]+)*$/;

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
