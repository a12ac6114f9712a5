import { LockConfigurationError } from '../errors.js';
import {
  LOCK_OPTIONS,
  type LockOptions,
  type Presets,
  type ResolvedLockOptions,
  resolveLockOptions,
} from '../options/lock-options.js';
import { checkRetryAfter, type RetryAfter } from '../options/retry-after.js';
import { checkFlag, checkNames, checkWhole, durationMs } from '../options/values.js';
import { DEFAULT_MAX_KEPT } from '../engine/lock-engine.js';
import type { AckSettings } from '../store/redis/acknowledged.js';
import { LAYOUTS, type LockLayout } from '../store/redis/layout.js';
import { meetsHelperKey } from '../store/redis/redis-keys.js';
import type { Durability, LockCredentialsProvider, LocksOptions } from './locks-options.js';

export const DEFAULT_PREFIX = 'lock:';
const DEFAULT_DRAIN_TIMEOUT_MS = 2_000;
const DEFAULT_MAX_WAITERS_PER_KEY = 10_000;
const DEFAULT_MAX_WAITERS = 100_000;
const DEFAULT_WARN_AFTER_MS = 60_000;

/** Checked options with all defaults. */
export interface LocksSettings {
  readonly credentials: LockCredentialsProvider | undefined;
  readonly prefix: string;
  readonly durability: AckSettings | undefined;
  readonly layout: LockLayout;
  readonly serverMayChange: boolean;
  readonly drainTimeoutMs: number;
  readonly maxWaitersPerKey: number;
  readonly maxWaiters: number;
  readonly maxKept: number;
  readonly retryAfter: RetryAfter | undefined;
  /** 0 disables the report. */
  readonly warnAfterMs: number;
  readonly defaults: ResolvedLockOptions;
  readonly presets: Presets;
}

/** The names of the options. */
export const LOCKS_OPTIONS: Readonly<Record<keyof LocksOptions, true>> = {
  connection: true,
  credentials: true,
  prefix: true,
  durability: true,
  layout: true,
  serverMayChange: true,
  drainTimeout: true,
  maxWaiters: true,
  maxKept: true,
  retryAfter: true,
  warnAfter: true,
  defaults: true,
  presets: true,
};

/**
 * Does not check the connection, which `connectStore` does.
 * @throws LockConfigurationError naming the invalid option
 */
export function resolveLocksOptions(given: LocksOptions): LocksSettings {
  checkRetryAfter(given.retryAfter);
  const { warnAfter, drainTimeout, serverMayChange = false, defaults = {} } = given;
  checkFlag('serverMayChange', serverMayChange);
  checkObject('Option "defaults"', defaults);
  checkNames(defaults, LOCK_OPTIONS, 'defaults.');
  const resolved = resolveLockOptions(defaults);
  return {
    credentials: credentialsOf(given),
    prefix: prefixOf(given),
    durability: resolveDurability(given.durability),
    layout: layoutOf(given),
    serverMayChange,
    drainTimeoutMs: drainTimeout === undefined ? DEFAULT_DRAIN_TIMEOUT_MS : durationMs('drainTimeout', drainTimeout),
    ...maxWaitersOf(given),
    maxKept: count('maxKept', given.maxKept ?? DEFAULT_MAX_KEPT),
    retryAfter: given.retryAfter,
    warnAfterMs: warnAfter === undefined ? DEFAULT_WARN_AFTER_MS : durationMs('warnAfter', warnAfter),
    defaults: resolved,
    presets: presetsOf(given, resolved),
  };
}

function credentialsOf({ credentials }: LocksOptions): LockCredentialsProvider | undefined {
  if (credentials === undefined || typeof credentials === 'function') return credentials;
  // The value may contain a password.
  throw new LockConfigurationError('Option "credentials" must be a function that returns { username, password }.');
}

function presetsOf({ presets = {} }: LocksOptions, defaults: ResolvedLockOptions): Presets {
  checkObject('Option "presets"', presets);
  return new Map(
    Object.entries<LockOptions>(presets).map(([name, preset]) => {
      checkObject(`Option "presets.${name}"`, preset);
      checkNames(preset, LOCK_OPTIONS, `presets.${name}.`);
      try {
        return [name, resolveLockOptions(preset, defaults)];
      } catch (error) {
        throw error instanceof LockConfigurationError
          ? new LockConfigurationError(`Option "presets.${name}": ${error.message}`)
          : error;
      }
    }),
  );
}

function prefixOf({ prefix = DEFAULT_PREFIX }: LocksOptions): string {
  if (typeof prefix === 'string' && prefix !== '' && !meetsHelperKey(prefix)) return prefix;
  throw new LockConfigurationError(
    `Option "prefix" is ${JSON.stringify(prefix)}, but it must be a non-empty string that does not begin like a helper key, such as "q:".`,
  );
}

function layoutOf({ layout = 'auto' }: LocksOptions): LockLayout {
  if (LAYOUTS.includes(layout)) return layout;
  throw new LockConfigurationError(
    `Option "layout" is ${JSON.stringify(layout)}, but it must be one of ${LAYOUTS.map((name) => `"${name}"`).join(', ')}.`,
  );
}

/** The limit per key stays below the total, so that the callers of one key cannot block all other keys. */
function maxWaitersOf({ maxWaiters = {} }: LocksOptions): { maxWaitersPerKey: number; maxWaiters: number } {
  if (typeof maxWaiters === 'number') {
    const maxWaitersPerKey = count('maxWaiters', maxWaiters);
    return { maxWaitersPerKey, maxWaiters: Math.max(2 * maxWaitersPerKey, DEFAULT_MAX_WAITERS) };
  }
  checkObject('Option "maxWaiters"', maxWaiters);
  checkNames(maxWaiters, { perKey: true, total: true }, 'maxWaiters.');
  const given = maxWaiters.perKey === undefined ? undefined : count('maxWaiters.perKey', maxWaiters.perKey);
  const all = count('maxWaiters.total', maxWaiters.total ?? Math.max(DEFAULT_MAX_WAITERS, 2 * (given ?? 0)));
  const half = Math.max(1, Math.floor(all / 2));
  const maxWaitersPerKey = given ?? Math.min(DEFAULT_MAX_WAITERS_PER_KEY, half);
  if (maxWaitersPerKey < all || all === 1) return { maxWaitersPerKey, maxWaiters: all };
  throw new LockConfigurationError(
    `Option "maxWaiters.perKey" is ${maxWaitersPerKey}, but it must be less than "maxWaiters.total" (${all}).`,
  );
}

function count(option: string, value: number): number {
  checkWhole(option, value, 1);
  return value;
}

/** @throws LockConfigurationError naming the value */
export function checkObject(what: string, value: unknown): asserts value is object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new LockConfigurationError(`${what} must be an object.`);
}

const DEFAULT_DURABILITY_TIMEOUT = '100ms';
/** A part of the 800 ms that a command may take. */
const LONGEST_DURABILITY_MS = 500;

/** @throws LockConfigurationError naming the invalid option */
function resolveDurability(given: Durability | undefined): AckSettings | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null)
    throw new LockConfigurationError('Option "durability" must be an object.');
  checkNames(given, { replicas: true, timeout: true }, 'durability.');
  const { replicas, timeout = DEFAULT_DURABILITY_TIMEOUT } = given;
  checkWhole('durability.replicas', replicas, 1);
  const timeoutMs = durationMs('durability.timeout', timeout, 1);
  if (timeoutMs > LONGEST_DURABILITY_MS) {
    throw new LockConfigurationError(
      `Option "durability.timeout" is ${timeoutMs} ms, but it must be at most ${LONGEST_DURABILITY_MS} ms.`,
    );
  }
  return { replicas, timeoutMs };
}
