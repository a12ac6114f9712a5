import { Logger } from '@nestjs/common';

import { isLockError, LockConfigurationError } from '../../errors.js';
import type { LockEngine } from '../../engine/lock-engine.js';
import {
  beneathOf,
  LOCK_OPTIONS,
  type LockOptions,
  MOST_PERMITS,
  type Presets,
  type ResolvedLockOptions,
  resolveLockOptions,
} from '../../options/lock-options.js';
import { checkNames, defined } from '../../options/values.js';
import { DEFAULT_CONNECTION } from '../../locks/default-connection.js';
import { oncePerMinute } from '../../locks/once-per-minute.js';
import type { CronTicks } from './cron-ticks.js';
import type { LockErrorMappers } from './error-mapping.js';
import { type InstanceOptions, type LockSpec, namingMethod } from './lock-spec.js';

const logger = new Logger('DistributeLock');

/** A lock of a method with the connection and options of this application. */
export interface PreparedLock {
  readonly engine: LockEngine;
  readonly options: ResolvedLockOptions;
  /** Whether the wait ends when the client disconnects. */
  readonly abortOnDisconnect: boolean;
}

/** Module options that concern calls of locked methods. */
export interface ConnectionSettings {
  /** HTTP status for a lock that another caller holds. */
  readonly contendedStatus: number;
  /** Whether the waits of a request end when its client disconnects. */
  readonly abortOnDisconnect: boolean;
  /** Custom exceptions. */
  readonly errors: LockErrorMappers;
  /** Sets of options by name. */
  readonly presets: Presets;
}

/** The lock engines of one application, and the prepared lock of each locked method. */
export class LockConnections {
  private readonly prepared = new WeakMap<LockSpec, PreparedLock>();
  /** Locks of jobs of a scheduler, which logs every error and has no other caller. */
  readonly jobs = new WeakSet<LockSpec>();
  /** Ticks of the locks with `once`. */
  readonly ticks = new WeakMap<LockSpec, CronTicks>();
  private readonly warnOfJob = oncePerMinute((text) => logger.warn(text));
  /** Locks with a logged key fault. */
  private readonly faulty = new WeakSet<LockSpec>();

  constructor(
    readonly engines: ReadonlyMap<string, LockEngine>,
    readonly settings: ConnectionSettings,
  ) {}

  /** @throws LockConfigurationError when no connection has that name */
  engine(name: string = DEFAULT_CONNECTION): LockEngine {
    const engine = this.engines.get(name);
    if (engine !== undefined) return engine;
    throw new LockConfigurationError(
      `Option "connectionName" is "${name}", but LockModule has no such connection. Configured are ${[...this.engines.keys()].join(', ')}.`,
    );
  }

  /** Logs the first key fault of a lock: a wrong template would otherwise appear only as responses with status 400. */
  reportKeyFault(spec: LockSpec, error: unknown): void {
    if (!isLockError(error, 'LOCK_KEY') || this.faulty.has(spec)) return;
    this.faulty.add(spec);
    const { method, template } = spec;
    const key = template === method ? 'its key' : `the key "${template}"`;
    logger.warn(`${method} did not run, because ${key} has no value: ${error.message} Further calls are not logged.`);
  }

  /** Logs one short line per job and minute. The scheduler would print every error with its stack. */
  reportJob({ method }: LockSpec, { message }: Error): void {
    this.warnOfJob(method, `The job ${method} did not run: ${message}`);
  }

  /**
   * Merges the options of the decorator with those of the module: once per lock, or for each call if a function of the instance computes
   * options.
   * @param self - the instance; without it such a function is not called
   * @param args - the arguments of the call
   * @throws LockConfigurationError naming the method
   */
  prepare(spec: LockSpec, self?: object, args: readonly unknown[] = []): PreparedLock {
    const perCall = self !== undefined && spec.instanceOptions !== undefined;
    const known = perCall ? undefined : this.prepared.get(spec);
    if (known !== undefined) return known;
    try {
      const engine = this.engine(spec.connectionName);
      const { abortOnDisconnect = this.settings.abortOnDisconnect } = spec;
      const options = this.merged(spec, engine, self, args);
      if (spec.once !== undefined) checkOnce(options);
      const prepared = { engine, options, abortOnDisconnect: abortOnDisconnect && options.waitMs > 0 };
      if (!perCall) this.prepared.set(spec, prepared);
      return prepared;
    } catch (error) {
      throw namingMethod(error, spec.method);
    }
  }

  private merged(
    { options, preset, instanceOptions }: LockSpec,
    engine: LockEngine,
    self: object | undefined,
    args: readonly unknown[],
  ): ResolvedLockOptions {
    const beneath = beneathOf(preset, this.settings.presets, engine.defaults);
    if (instanceOptions === undefined) return resolveLockOptions(options, beneath);
    // Options that only the function completes are checked with its result.
    if (self === undefined) return resolveLockOptions(options, { ...beneath, ttlMs: Infinity, permits: MOST_PERMITS });
    const given = returned(instanceOptions, self, args);
    checkNames(given, LOCK_OPTIONS);
    return resolveLockOptions({ ...options, ...defined(given) }, beneath);
  }
}

/** The marker of a tick replaces what these options are for. */
function checkOnce({ minHoldMs, release, reentrant }: ResolvedLockOptions): void {
  const refused = minHoldMs > 0 ? 'minHold' : release === 'expire' ? 'release' : reentrant ? 'reentrant' : undefined;
  if (refused === undefined) return;
  throw new LockConfigurationError(
    `Option "once" cannot be combined with "${refused}", of the decorator, its preset or the defaults of the module: the tick alone decides which call runs.`,
  );
}

function returned(instanceOptions: InstanceOptions, self: object, args: readonly unknown[]): LockOptions {
  let options: LockOptions & PromiseLike<unknown>;
  try {
    options = Reflect.apply(instanceOptions, self, [self, ...args]) as typeof options;
  } catch (cause) {
    throw new LockConfigurationError(
      `The function in "options" threw: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
  if (typeof (options as typeof options | undefined)?.then !== 'function') return options;
  options.then(undefined, () => undefined);
  throw new LockConfigurationError('The function in "options" must return the options, and no promise of them.');
}
