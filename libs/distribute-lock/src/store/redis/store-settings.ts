import type { Clock } from '../../runtime/clock.js';

/** Settings of a Redis store. */
export interface RedisLockStoreSettings {
  /** Prefix of every lock key. */
  readonly prefix: string;
  /** Clock of the store; replaced in tests. */
  readonly clock?: Clock;
}
