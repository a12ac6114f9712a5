import { inspect } from 'node:util';

import { LockConfigurationError, type LockErrorCode } from '../../errors.js';
import {
  compileKey,
  compileKeys,
  type KeyFunction,
  type KeysFunction,
  type RenderKeys,
} from '../../keys/compile-keys.js';
import type { KeySite } from '../../keys/key-template.js';
import { boundedName } from '../../options/lock-name.js';
import {
  LOCK_DEFAULTS,
  LOCK_OPTIONS,
  type LockOptions,
  MOST_PERMITS,
  type ResolvedLockOptions,
  resolveLockOptions,
} from '../../options/lock-options.js';
import { checkFlag, checkNames } from '../../options/values.js';

/** What `onContended` is told about the lock that could not be had. @public */
export interface LockContentionInfo {
  /** Class and method. */
  readonly name: string;
  /** `LOCK_CONTENDED`: somebody else has it. `LOCK_WAIT_TIMEOUT`: it did not become free within `wait`. */
  readonly code: Extract<LockErrorCode, 'LOCK_CONTENDED' | 'LOCK_WAIT_TIMEOUT'>;
  /** A guess, in milliseconds, of when it is worth trying again. */
  readonly retryAfterMs: number;
  /** What the call would have been rejected with. */
  readonly error: Error;
}

/**
 * Answers in the place of a method whose lock somebody else holds.
 * @public
 */
// A narrower parameter list must be accepted here; the decorator compares it with the method's.
// oxlint-disable-next-line typescript/no-explicit-any
export type ContentionAnswer = (info: LockContentionInfo, ...args: any[]) => unknown;

/** Options of `@DistributeLock`. @public */
export interface DistributeLockOptions extends LockOptions {
  /**
   * Names the lock: a template whose `#{path}` holes are filled from the call, such as `'order:#{body.id}'` or
   * `'invoice:#{arg0.id}'`, or a function of the method's arguments.
   */
  readonly key?: string | KeyFunction;
  /**
   * In the place of `key`: names several locks that are taken together, all or none, in an order of their own and with one
   * deadline. Templates, or a function of the method's arguments that returns the keys.
   */
  readonly keys?: readonly string[] | KeysFunction;
  /**
   * Which of the module's `connections` the lock lives on.
   * @defaultValue the module's `connection`
   */
  readonly connectionName?: string;
  /**
   * What the call does when somebody else holds the lock: `'throw'` rejects, `'skip'` resolves with `undefined` without
   * running the method (cron jobs), a function answers instead of the method.
   * @defaultValue `'throw'`
   */
  readonly onContended?: 'throw' | 'skip' | ContentionAnswer;
  /**
   * HTTP status of the answer when somebody else holds the lock, 400 to 499.
   * @defaultValue the module's `contendedStatus`, which is 409
   */
  readonly contendedStatus?: number;
  /**
   * Whether a client that closes its connection ends the wait for this lock. A lock that is free is taken all the same.
   * @defaultValue the module's `abortOnDisconnect`, which is `true`
   */
  readonly abortOnDisconnect?: boolean;
}

/** How the method hands out its result, which decides when the lock is taken. */
export type ResultShape = 'promise' | 'generator' | 'observable';

/** One lock of one method, checked as far as it can be without the module. */
export interface LockSpec {
  /** Class and method, for messages. */
  readonly method: string;
  /** What labels errors and events: the method, unless the process has too many names. */
  readonly name: string;
  /** Text of the key template, or the method whose function makes the key. */
  readonly template: string;
  readonly render: RenderKeys;
  readonly shape: ResultShape;
  readonly options: LockOptions;
  readonly connectionName: string | undefined;
  readonly onContended: 'throw' | 'skip' | ContentionAnswer;
  readonly contendedStatus: number | undefined;
  readonly abortOnDisconnect: boolean | undefined;
  /** Arguments that the lease is put into. */
  readonly leaseParameters: readonly number[];
}

/** Where a decorator stands. */
export interface LockPlace extends KeySite {
  readonly shape: ResultShape;
  readonly leaseParameters: readonly number[];
}

const DECORATOR_OPTIONS: Readonly<Record<Exclude<keyof DistributeLockOptions, keyof LockOptions>, true>> = {
  key: true,
  keys: true,
  connectionName: true,
  onContended: true,
  contendedStatus: true,
  abortOnDisconnect: true,
};

/** The module's defaults are not known before boot, and then all is checked once more. */
const ANY_DEFAULTS: ResolvedLockOptions = { ...LOCK_DEFAULTS, ttlMs: Infinity, permits: MOST_PERMITS };

/** @throws LockConfigurationError naming the method and the option that is wrong */
export function lockSpec(given: DistributeLockOptions, place: LockPlace): LockSpec {
  try {
    checkNames(given, { ...LOCK_OPTIONS, ...DECORATOR_OPTIONS });
    checkChoices(given);
    const { key, keys, connectionName, onContended = 'throw', contendedStatus, abortOnDisconnect, ...options } = given;
    resolveLockOptions(options, ANY_DEFAULTS);
    const { method, shape, leaseParameters } = place;
    return {
      method,
      name: boundedName(method),
      ...(keys === undefined ? compileKey(key, place) : compileKeys(keys, key, place)),
      shape,
      options,
      connectionName,
      onContended,
      contendedStatus,
      abortOnDisconnect,
      leaseParameters,
    };
  } catch (error) {
    throw namingMethod(error, place.method);
  }
}

/** The same error, with the method in front where it is not named yet. */
export function namingMethod(error: unknown, method: string): unknown {
  if (!(error instanceof LockConfigurationError) || error.message.includes(method)) return error;
  return new LockConfigurationError(`@DistributeLock on ${method}: ${error.message}`, { cause: error.cause });
}

function checkChoices({
  connectionName,
  onContended,
  contendedStatus,
  abortOnDisconnect,
}: DistributeLockOptions): void {
  if (connectionName !== undefined && (typeof connectionName !== 'string' || connectionName === '')) {
    throw new LockConfigurationError('Option "connectionName" must be a non-empty string.');
  }
  if (onContended !== undefined && typeof onContended !== 'function' && !['throw', 'skip'].includes(onContended)) {
    throw new LockConfigurationError('Option "onContended" must be "throw", "skip" or a function.');
  }
  checkContendedStatus(contendedStatus);
  if (abortOnDisconnect !== undefined) checkFlag('abortOnDisconnect', abortOnDisconnect);
}

/** @throws LockConfigurationError when `status` cannot say that a lock is taken */
export function checkContendedStatus(status: unknown): void {
  if (
    status === undefined ||
    (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 499)
  ) {
    return;
  }
  throw new LockConfigurationError(
    `Option "contendedStatus" is ${inspect(status)}, but it must be a whole number from 400 to 499.`,
  );
}
