import type { RedisOptions } from 'ioredis';

import { LockConfigurationError } from '../../errors.js';
import type { RedisClient } from '../../store/redis/redis-client.js';

/** The value is never repeated: it may hold a password. */
export function wrong(option: string, what: string): LockConfigurationError {
  return new LockConfigurationError(`Option "${option}" ${what}.`);
}

/** Whether the value has all of these methods. */
export function has(value: object, methods: readonly string[]): boolean {
  return methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}

/** By its methods: an application may well have two copies of ioredis. */
export const isRedisClient = (value: object): value is RedisClient => has(value, ['evalsha', 'duplicate', 'on']);

export const isRedisUrl = (text: string): boolean => /^rediss?:\/\/./.test(text) && URL.canParse(text);

/**
 * Options of ioredis for one primary, or for the Sentinels that know it.
 * @throws LockConfigurationError when they name no server
 */
export function checkRedisOptions(option: string, options: object, ways: string): RedisOptions {
  const prototype: unknown = Object.getPrototypeOf(options);
  if (prototype !== null && prototype !== Object.prototype) {
    throw wrong(option, `is a ${options.constructor.name}, which is not known here; it must be ${ways}`);
  }
  const { host, port, path, sentinels } = options as RedisOptions;
  // ioredis would go to 127.0.0.1, which is hardly what a forgotten environment variable meant.
  if ('host' in options && (host === undefined || host === '')) throw wrong(`${option}.host`, 'is empty');
  if (host === undefined && port === undefined && path === undefined && sentinels === undefined) {
    throw wrong(option, 'has neither host, port, path nor sentinels');
  }
  return options;
}
