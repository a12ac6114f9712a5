/** How the names of helper keys begin; a prefix for locks must not begin so. */
export const QUEUE_PREFIX = 'q:';
export const FENCE_PREFIX = 'f:';

/** A `{tag}` that Redis Cluster would hash instead of the whole key. */
const TAG = /^[^{]*\{[^}]+\}/;

/** Names in Redis: the lock's own key, and its helpers in the same hash slot. */
export class RedisKeys {
  /** The counter of fencing tokens: one for all locks of the prefix. */
  readonly fence: string;

  constructor(readonly prefix: string) {
    this.fence = `${FENCE_PREFIX}${prefix}`;
  }

  lock(key: string): string {
    return this.prefix + key;
  }

  queue(lockKey: string): string {
    return lockKey.includes('{') && TAG.test(lockKey) ? `${QUEUE_PREFIX}${lockKey}` : `${QUEUE_PREFIX}{${lockKey}}`;
  }
}
