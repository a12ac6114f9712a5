import { LockConfigurationError } from '../errors/lock-configuration.error.js';
import { checkTogether } from './check-together.js';
import { LOCK_DEFAULTS, MIN_TTL_MS, MOST_PERMITS } from './defaults.js';
import { durationMs } from './duration.js';
import type { Duration, LockOptions, ResolvedLockOptions } from './lock-options.js';
import { shown } from './shown.js';

const KINDS = ['exclusive', 'write', 'read', 'semaphore'] as const;

/**
 * Lays the options of a decorator or call over those beneath it, checks every rule, and freezes the result.
 * A field that is `undefined` counts as not given; `null` is an error.
 * @throws LockConfigurationError naming the option that is wrong
 */
export function resolveLockOptions(
  options: LockOptions,
  beneath: ResolvedLockOptions = LOCK_DEFAULTS,
): ResolvedLockOptions {
  const known = recent.find((each) => each.beneath === beneath && asks(each.options, options));
  if (known !== undefined) return known.resolved;
  const resolved = Object.freeze(resolve(options, beneath));
  checkTogether(resolved);
  if (recent.length === MOST_RECENT) recent.shift();
  recent.push({ options: copy(options), beneath, resolved });
  return resolved;
}

/**
 * Calls ask for the same few things again and again: nothing is read twice, and a lock that is held keeps no copy of its own.
 */
const recent: { options: LockOptions; beneath: ResolvedLockOptions; resolved: ResolvedLockOptions }[] = [];
const MOST_RECENT = 8;

function copy(options: LockOptions): LockOptions {
  const { ttl, wait, renew, maxHold, minHold, fair, reentrant, kind, permits, weight, release, onLost } = options;
  return { ttl, wait, renew, maxHold, minHold, fair, reentrant, kind, permits, weight, release, onLost };
}

function asks(one: LockOptions, other: LockOptions): boolean {
  return (
    one.ttl === other.ttl &&
    one.wait === other.wait &&
    one.renew === other.renew &&
    one.maxHold === other.maxHold &&
    one.minHold === other.minHold &&
    one.fair === other.fair &&
    one.reentrant === other.reentrant &&
    one.kind === other.kind &&
    one.permits === other.permits &&
    one.weight === other.weight &&
    one.release === other.release &&
    one.onLost === other.onLost
  );
}

function resolve(options: LockOptions, beneath: ResolvedLockOptions): ResolvedLockOptions {
  const kind = choice('kind', options.kind, beneath.kind, KINDS);
  const isSemaphore = kind === 'semaphore';
  return {
    ttlMs: duration('ttl', options.ttl, beneath.ttlMs, MIN_TTL_MS),
    waitMs: duration('wait', options.wait, beneath.waitMs),
    renew: flag('renew', options.renew, beneath.renew),
    maxHoldMs: duration('maxHold', options.maxHold, beneath.maxHoldMs, 1),
    minHoldMs: duration('minHold', options.minHold, beneath.minHoldMs),
    fair: choice('fair', options.fair, beneath.fair, ['process', 'strict']),
    reentrant: flag('reentrant', options.reentrant, beneath.reentrant),
    kind,
    permits: count('permits', options.permits, isSemaphore ? beneath.permits : LOCK_DEFAULTS.permits),
    weight: count('weight', options.weight, isSemaphore ? beneath.weight : LOCK_DEFAULTS.weight),
    release: choice('release', options.release, beneath.release, ['end', 'expire']),
    onLost: choice('onLost', options.onLost, beneath.onLost, ['signal', 'throw']),
  };
}

function duration(option: string, value: Duration | undefined, beneath: number, leastMs = 0): number {
  return value === undefined ? beneath : durationMs(option, value, leastMs);
}

function flag(option: string, value: boolean | undefined, beneath: boolean): boolean {
  if (value === undefined) return beneath;
  if (typeof value === 'boolean') return value;
  throw new LockConfigurationError(`Option "${option}" is ${String(value)}, but it must be true or false.`);
}

function choice<T extends string>(option: string, value: T | undefined, beneath: T, allowed: readonly T[]): T {
  if (value === undefined) return beneath;
  if (allowed.includes(value)) return value;
  throw new LockConfigurationError(
    `Option "${option}" is ${shown(value)}, but it must be ${allowed.map((name) => `"${name}"`).join(' or ')}.`,
  );
}

function count(option: string, value: number | undefined, beneath: number): number {
  if (value === undefined) return beneath;
  if (Number.isInteger(value) && value >= 1 && value <= MOST_PERMITS) return value;
  throw new LockConfigurationError(
    `Option "${option}" is ${shown(value)}, but it must be a whole number from 1 to ${MOST_PERMITS}.`,
  );
}
