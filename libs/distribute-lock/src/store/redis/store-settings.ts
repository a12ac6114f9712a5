import type { Clock } from '../../runtime/clock.js';

/** How a store on Redis names its keys. */
export interface RedisLockStoreSettings {
  /** Put before every lock's key. */
  readonly prefix: string;
  /** Replaced in tests. */
  readonly clock?: Clock;
}
