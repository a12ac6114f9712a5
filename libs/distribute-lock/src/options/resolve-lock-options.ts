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
  const known = recent.find((each) => each.beneath === beneath && asks(each.options, options));
  if (known !== undefined) return known.resolved;
  const resolved = Object.freeze(resolve(options, beneath));
  if (recent.length === MOST_RECENT) recent.shift();
  const { ttl, wait, renew, maxHold, minHold, fair, reentrant, onLost } = options;
  recent.push({ options: { ttl, wait, renew, maxHold, minHold, fair, reentrant, onLost }, beneath, resolved });
  return resolved;
}

/**
 * Calls ask for the same few things again and again: nothing is read twice, and a lock that is held keeps no copy of its own.
 */
const recent: { options: LockOptions; beneath: ResolvedLockOptions; resolved: ResolvedLockOptions }[] = [];
const MOST_RECENT = 8;

function asks(one: LockOptions, other: LockOptions): boolean {
  return (
    one.ttl === other.ttl &&
    one.wait === other.wait &&
    one.renew === other.renew &&
    one.maxHold === other.maxHold &&
    one.minHold === other.minHold &&
    one.fair === other.fair &&
    one.reentrant === other.reentrant &&
    one.onLost === other.onLost
  );
}

function resolve(options: LockOptions, beneath: ResolvedLockOptions): ResolvedLockOptions {
  const resolved: ResolvedLockOptions = {
    ttlMs: duration('ttl', options.ttl, beneath.ttlMs, MIN_TTL_MS),
    waitMs: duration('wait', options.wait, beneath.waitMs),
    renew: flag('renew', options.renew, beneath.renew),
    maxHoldMs: duration('maxHold', options.maxHold, beneath.maxHoldMs, 1),
    minHoldMs: duration('minHold', options.minHold, beneath.minHoldMs),
    fair: choice('fair', options.fair, beneath.fair, ['process', 'strict']),
    reentrant: flag('reentrant', options.reentrant, beneath.reentrant),
    onLost: choice('onLost', options.onLost, beneath.onLost, ['signal', 'throw']),
  };
  checkTogether(resolved);
  return resolved;
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
