/** How the names of helper keys begin; a prefix for locks must not begin so. */
const QUEUE_PREFIX = 'q:';
const FENCE_PREFIX = 'f:';
const READERS_PREFIX = 'r:';
const GATE_PREFIX = 'g:';
const PERMITS_PREFIX = 's:';
const PERMITS_QUEUE_PREFIX = 'sq:';
const PERMITS_ASKED_PREFIX = 'sa:';

/** A `{tag}` that Redis Cluster would hash instead of the whole key. */
const TAG = /^[^{]*\{([^}]+)\}/;

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
    return beside(lockKey, QUEUE_PREFIX);
  }

  /** The leases of readers. */
  readers(lockKey: string): string {
    return beside(lockKey, READERS_PREFIX);
  }

  /** Stands while a writer waits for readers. */
  gate(lockKey: string): string {
    return beside(lockKey, GATE_PREFIX);
  }

  /** Of a semaphore: its leases, its queue, and how long the places in it count. */
  semaphore(lockKey: string): readonly [held: string, queue: string, asked: string] {
    return [
      beside(lockKey, PERMITS_PREFIX),
      beside(lockKey, PERMITS_QUEUE_PREFIX),
      beside(lockKey, PERMITS_ASKED_PREFIX),
    ];
  }

  /** The counter of one lock, where locks cannot share one. */
  fenceOf(lockKey: string): string {
    return fenceBeside(lockKey);
  }

  /** Whether the locks of these keys are surely in one slot of a Redis Cluster, because they have one `{tag}`. */
  inOneSlot(keys: readonly string[], outer: string): boolean {
    return new Set(keys.map((key) => hashed(outer + this.lock(key)))).size === 1;
  }

  /**
   * What is wrong with a key in Redis Cluster, where a lock and its helpers must be in one slot.
   * @param outer - what a prefixing client puts before every key
   */
  clusterFault(key: string, outer: string): string | undefined {
    const lockKey = this.lock(key);
    const helper = outer + this.queue(lockKey);
    if (hashed(outer + lockKey) === hashed(helper)) return undefined;
    return 'has a "}" but no "{tag}" before it, so Redis Cluster cannot keep its lock and its queue in one slot';
  }
}

/** The counter of one lock, in its slot. */
export function fenceBeside(lockKey: string): string {
  return beside(lockKey, FENCE_PREFIX);
}

/** A helper's name that hashes to the lock's slot. */
function beside(lockKey: string, prefix: string): string {
  return lockKey.includes('{') && TAG.test(lockKey) ? `${prefix}${lockKey}` : `${prefix}{${lockKey}}`;
}

/** The part of a name from which Redis Cluster computes its slot. */
export function hashed(name: string): string {
  return name.includes('{') ? (TAG.exec(name)?.[1] ?? name) : name;
}

/** All of them. */
export const HELPER_PREFIXES = [
  QUEUE_PREFIX,
  FENCE_PREFIX,
  READERS_PREFIX,
  GATE_PREFIX,
  PERMITS_PREFIX,
  PERMITS_QUEUE_PREFIX,
  PERMITS_ASKED_PREFIX,
] as const;
