import { LockConfigurationError } from '../../errors.js';
import { checkNames, checkWhole, durationMs } from '../../options/values.js';
import type { LockStore } from '../../store/lock-store.js';
import type { AckSettings } from '../../store/redis/acknowledged.js';
import { RedisLockStore } from '../../store/redis/redis-lock-store.js';
import type { Durability } from './lock-module-options.js';

const DEFAULT_TIMEOUT = '100ms';
/** Commands have to be answered within 800 ms, and this is a part of it. */
const LONGEST_MS = 500;

/** @throws LockConfigurationError naming the option that is wrong */
export function resolveDurability(given: Durability | undefined): AckSettings | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null)
    throw new LockConfigurationError('Option "durability" must be an object.');
  checkNames(given, { replicas: true, timeout: true }, 'durability.');
  const { replicas, timeout = DEFAULT_TIMEOUT } = given;
  checkWhole('durability.replicas', replicas, 1);
  const timeoutMs = durationMs('durability.timeout', timeout, 1);
  if (timeoutMs > LONGEST_MS) {
    throw new LockConfigurationError(
      `Option "durability.timeout" is ${timeoutMs} ms, but it must not be longer than ${LONGEST_MS} ms.`,
    );
  }
  return { replicas, timeoutMs };
}

/** @throws LockConfigurationError where no replicas can be asked: the option is never ignored */
export function withDurability(option: string, store: LockStore, durability: AckSettings | undefined): LockStore {
  if (durability === undefined) return store;
  if (store instanceof RedisLockStore) return store.acknowledgedBy(durability);
  throw new LockConfigurationError(
    `Option "durability" cannot be kept by "${option}": only a Redis primary, with Sentinel or without, and a Redis Cluster have replicas.`,
  );
}
