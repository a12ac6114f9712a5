import { inspect } from 'node:util';

import { Logger } from '@nestjs/common';

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
import type { LockPresetName } from '../../options/presets.js';
import { checkChoice, checkFlag, checkNames } from '../../options/values.js';

/** Argument of `onContended`: facts about the lock that the call did not get. @public */
export interface LockContentionInfo {
  /** Class and method; `other` above 200 names in a process. */
  readonly name: string;
  /** `LOCK_CONTENDED`: another caller holds the lock. `LOCK_WAIT_TIMEOUT`: the call did not get it within `wait`. */
  readonly code: Extract<LockErrorCode, 'LOCK_CONTENDED' | 'LOCK_WAIT_TIMEOUT'>;
  /** Estimated milliseconds until a retry may succeed. */
  readonly retryAfterMs: number;
  /** The error with which the call would reject. */
  readonly error: Error;
}

/**
 * Computes the result of a call whose lock another caller holds.
 * @public
 */
// `any[]` accepts narrower parameters; the decorator compares them with those of the method.
// oxlint-disable-next-line typescript/no-explicit-any
export type ContentionAnswer = (info: LockContentionInfo, ...args: any[]) => unknown;

/**
 * Computes lock options from the instance of the method and the arguments of the call.
 * @public
 */
// `any` accepts every class and narrower parameters; the decorator compares them with those of the method.
// oxlint-disable-next-line typescript/no-explicit-any
export type InstanceOptions = (instance: any, ...args: any[]) => LockOptions;

/** Options of `@DistributeLock`. @public */
export interface DistributeLockOptions extends LockOptions {
  /**
   * The key of the lock: a template whose `#{path}` placeholders are filled from the call, such as `'order:#{body.id}'` or
   * `'invoice:#{arg0.id}'`, or a function of the method's arguments. Within a function that is not an arrow function, `this` is the
   * instance: `key(this: Orders, id: string) { return lockKey\`${this.tenant}:${id}\`; }`.
   */
  readonly key?: string | KeyFunction;
  /**
   * Several keys instead of `key`: templates, or a function of the method's arguments that returns the keys. The call acquires all of
   * them or none, in ascending order and with one deadline.
   */
  readonly keys?: readonly string[] | KeysFunction;
  /**
   * The name of a preset of the module. Other options of the decorator override those of the preset.
   * @defaultValue none
   */
  readonly preset?: LockPresetName;
  /**
   * Computes options from the instance, for example from an injected `ConfigService`, and from the arguments of the call. Its result
   * overrides all other options. It is called for each call of the method. A function that takes only the instance is also called once
   * at start for singletons, after `onModuleInit`, so that wrong options prevent the start.
   * @defaultValue none
   */
  readonly options?: InstanceOptions;
  /**
   * Runs a `@Cron` method once per tick: once for each scheduled instant, on the instance that is first, also if the clocks of the hosts
   * differ by minutes. The other instances end their calls as `onContended` specifies. A crash loses the tick, and ticks are not repeated later. With
   * `wait: 0`, a tick is skipped while the job still runs. A call by other code than the scheduler runs under the lock alone.
   * @defaultValue none: each call of the method runs
   */
  readonly once?: 'tick';
  /**
   * The name of the module's connection that holds the lock.
   * @defaultValue the module's `connection`
   */
  readonly connectionName?: string;
  /**
   * The result of the call when another caller holds the lock: `'throw'` rejects, `'skip'` resolves with `undefined` without running the
   * method (cron jobs), and a function computes the result. With `'skip'`, a job of `@nestjs/schedule` is skipped during a shutdown, too.
   * @defaultValue `'throw'`
   */
  readonly onContended?: 'throw' | 'skip' | ContentionAnswer;
  /**
   * HTTP status of the response when another caller holds the lock, 400 to 499, or 503 for a limit of the server.
   * @defaultValue the module's `contendedStatus`, which is 409
   */
  readonly contendedStatus?: number;
  /**
   * Whether the wait for this lock ends when the client of the HTTP request closes the connection, or cancels the request with
   * HTTP/2. A free lock is still acquired. GraphQL resolvers are not affected.
   * @defaultValue the module's `abortOnDisconnect`, which is `true`
   */
  readonly abortOnDisconnect?: boolean;
  /**
   * What the method returns, if it is no promise and its declared type is not in the metadata of decorators. An Observable acquires the
   * lock when it is subscribed, an async iterable at the first `next()`.
   * @defaultValue the declared type
   */
  readonly result?: 'observable' | 'iterable';
}

/** The form of the method's result, which decides when the lock is acquired. */
export type ResultShape = 'promise' | 'iterable' | 'observable' | 'unknown';

/** One lock of one method, checked as far as possible without the module. */
export interface LockSpec {
  /** Class and method, for messages. */
  readonly method: string;
  /** Label of errors and events: the method, or `other` when the process has reached its limit of names. */
  readonly name: string;
  /** Text of the key template, or the method if a function computes the key. */
  readonly template: string;
  /** Paths of the template's placeholders. */
  readonly paths: readonly string[];
  readonly render: RenderKeys;
  readonly shape: ResultShape;
  readonly options: LockOptions;
  readonly preset: string | undefined;
  readonly instanceOptions: InstanceOptions | undefined;
  readonly connectionName: string | undefined;
  readonly onContended: 'throw' | 'skip' | ContentionAnswer;
  readonly contendedStatus: number | undefined;
  readonly abortOnDisconnect: boolean | undefined;
  /** Indexes of the parameters that receive the lease. */
  readonly leaseParameters: readonly number[];
  readonly once: 'tick' | undefined;
}

/**
 * Logs that a key differs from the template with the values as they are. A service that replaces another locking program, and runs
 * beside it, must not use such keys.
 */
export function logEncoded(method: string, template: string, characters: string): void {
  new Logger('DistributeLock').debug(
    `The key "${template}" of ${method} encodes ${characters} in a value, so a program that inserts the value as it is locks another key. ` +
      'Further values are not logged.',
  );
}

/** The method of a decorator. */
export interface LockPlace extends KeySite {
  readonly shape: ResultShape;
  readonly leaseParameters: readonly number[];
}

const DECORATOR_OPTIONS: Readonly<Record<Exclude<keyof DistributeLockOptions, keyof LockOptions>, true>> = {
  key: true,
  keys: true,
  preset: true,
  options: true,
  once: true,
  connectionName: true,
  onContended: true,
  contendedStatus: true,
  abortOnDisconnect: true,
  result: true,
};

/** Accept any defaults here: those of the module are not known before start-up, which checks all options again. */
const ANY_DEFAULTS: ResolvedLockOptions = { ...LOCK_DEFAULTS, ttlMs: Infinity, permits: MOST_PERMITS };

/** @throws LockConfigurationError naming the method and the invalid option */
export function lockSpec(given: DistributeLockOptions, place: LockPlace): LockSpec {
  try {
    checkNames(given, { ...LOCK_OPTIONS, ...DECORATOR_OPTIONS });
    checkChoices(given);
    const { key, keys, preset, options: instanceOptions, once, connectionName, ...others } = given;
    const { onContended = 'throw', contendedStatus, abortOnDisconnect, result, ...options } = others;
    resolveLockOptions(options, ANY_DEFAULTS);
    const { method, shape, leaseParameters } = place;
    return {
      method,
      name: boundedName(method),
      ...(keys === undefined ? compileKey(key, place) : compileKeys(keys, key, place)),
      shape: result ?? shape,
      options,
      preset,
      instanceOptions,
      connectionName,
      onContended,
      contendedStatus,
      abortOnDisconnect,
      leaseParameters,
      once,
    };
  } catch (error) {
    throw namingMethod(error, place.method);
  }
}

/** Prefixes the message with the method, unless it already names it. */
export function namingMethod(error: unknown, method: string): unknown {
  if (!(error instanceof LockConfigurationError) || error.message.includes(method)) return error;
  return new LockConfigurationError(`@DistributeLock on ${method}: ${error.message}`, { cause: error.cause });
}

function checkChoices({
  options,
  once,
  connectionName,
  onContended,
  contendedStatus,
  abortOnDisconnect,
  result,
}: DistributeLockOptions): void {
  if (once !== undefined) checkChoice('once', once, ['tick']);
  if (connectionName !== undefined && (typeof connectionName !== 'string' || connectionName === '')) {
    throw new LockConfigurationError('Option "connectionName" must be a non-empty string.');
  }
  if (options !== undefined && typeof options !== 'function') {
    throw new LockConfigurationError('Option "options" must be a function that returns lock options.');
  }
  if (onContended !== undefined && typeof onContended !== 'function' && !['throw', 'skip'].includes(onContended)) {
    throw new LockConfigurationError('Option "onContended" must be "throw", "skip" or a function.');
  }
  if (result !== undefined && !['observable', 'iterable'].includes(result)) {
    throw new LockConfigurationError('Option "result" must be "observable" or "iterable".');
  }
  checkContendedStatus(contendedStatus);
  if (abortOnDisconnect !== undefined) checkFlag('abortOnDisconnect', abortOnDisconnect);
}

/** @throws LockConfigurationError when `status` is neither 503 nor a whole number from 400 to 499 */
export function checkContendedStatus(status: unknown): void {
  if (
    status === undefined ||
    status === 503 ||
    (Number.isInteger(status) && 400 <= Number(status) && Number(status) < 500)
  )
    return;
  throw new LockConfigurationError(
    `Option "contendedStatus" is ${inspect(status)}, but it must be 503 or a whole number from 400 to 499.`,
  );
}
