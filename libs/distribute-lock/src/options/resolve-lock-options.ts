import { LockConfigurationError } from '../errors/lock-configuration.error.js';
import { LOCK_DEFAULTS, MIN_TTL_MS } from './defaults.js';
import { durationMs } from './duration.js';
import type { Duration, LockOptions, ResolvedLockOptions } from './lock-options.js';
import { shown } from './shown.js';

/**
 * Lays the options of a decorator or call over those beneath it, checks every rule, and freezes the result.
 * A field that is `undefined` counts as not given; `null` is an error.
 * @throws LockConfigurationError naming the option that is wrong
 */
export function resolveLockOptions(
  options: LockOptions,
  beneath: ResolvedLockOptions = LOCK_DEFAULTS,
): ResolvedLockOptions {
  const resolved: ResolvedLockOptions = {
    ttlMs: duration('ttl', options.ttl, beneath.ttlMs, MIN_TTL_MS),
    waitMs: duration('wait', options.wait, beneath.waitMs),
    renew: flag('renew', options.renew, beneath.renew),
    maxHoldMs: duration('maxHold', options.maxHold, beneath.maxHoldMs, 1),
    minHoldMs: duration('minHold', options.minHold, beneath.minHoldMs),
    fair: choice('fair', options.fair, beneath.fair, ['process', 'strict']),
    onLost: choice('onLost', options.onLost, beneath.onLost, ['signal', 'throw']),
  };
  checkTogether(resolved);
  return shared(resolved);
}

/** Calls ask for the same few things again and again; a held lock keeps its options, so it should not have a copy of its own. */
const recent: ResolvedLockOptions[] = [];
const MOST_RECENT = 8;

function shared(resolved: ResolvedLockOptions): ResolvedLockOptions {
  const same = recent.find((known) => isSame(known, resolved));
  if (same !== undefined) return same;
  if (recent.length === MOST_RECENT) recent.shift();
  recent.push(Object.freeze(resolved));
  return resolved;
}

function isSame(one: ResolvedLockOptions, other: ResolvedLockOptions): boolean {
  return (
    one.ttlMs === other.ttlMs &&
    one.waitMs === other.waitMs &&
    one.renew === other.renew &&
    one.maxHoldMs === other.maxHoldMs &&
    one.minHoldMs === other.minHoldMs &&
    one.fair === other.fair &&
    one.onLost === other.onLost
  );
}

function checkTogether({ ttlMs, renew, maxHoldMs, minHoldMs }: ResolvedLockOptions): void {
  if (minHoldMs > maxHoldMs) {
    throw new LockConfigurationError(`Option "minHold" (${minHoldMs} ms) is above "maxHold" (${maxHoldMs} ms).`);
  }
  if (!renew && minHoldMs > ttlMs) {
    throw new LockConfigurationError(
      `Option "minHold" (${minHoldMs} ms) is above "ttl" (${ttlMs} ms), which is the hard end with "renew: false".`,
    );
  }
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
