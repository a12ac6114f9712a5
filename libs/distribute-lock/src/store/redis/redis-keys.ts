import { channelIdOf, type ProcessId } from '../../runtime/owner-token.js';

/** How the names of helper keys begin, with the number of the protocol. Processes of another protocol use other names. */
const QUEUE_PREFIX = 'q1:';
const FENCE_PREFIX = 'f1:';
const READERS_PREFIX = 'r1:';
const GATE_PREFIX = 'g1:';
const PERMITS_PREFIX = 's1:';
const PERMITS_QUEUE_PREFIX = 'sq1:';
const PERMITS_ASKED_PREFIX = 'sa1:';
/** A prefix for locks that begins so could name a helper key, of this protocol or another one. */
const HELPER = /^(?:[fgqrs]|s[aq])\d*(?::|$)/;

/** Of the helpers that are sorted sets. */
const SORTED_SET = /^(?:[qrs]|s[aq])1:/;

export const isSortedSet = (name: string): boolean => SORTED_SET.test(name);

/** Scripts make the same name in `lib/queue.lua`. */
const CHANNEL_PREFIX = 'nestjs-lock:1:';

/** A `{tag}` that Redis Cluster would hash instead of the whole key. */
const TAG = /^[^{]*\{([^}]+)\}/;

/** Names in Redis: the lock's own key, and its helpers in the same hash slot. */
export class RedisKeys {
  /** The counter of fencing tokens: one for all locks of the prefix. */
  readonly fence: string;
  /** What stands before every key in Redis. */
  readonly fullPrefix: string;
  /** Ends the names of counters: scripts read from it how much of a lock's name is the prefix, which their channels begin with. */
  private readonly fenceSuffix: string;

  /** @param outer - what a prefixing client puts before every name */
  constructor(
    readonly prefix: string,
    private readonly outer = '',
  ) {
    this.fullPrefix = outer + prefix;
    this.fenceSuffix = `:${Buffer.byteLength(this.fullPrefix)}`;
    this.fence = FENCE_PREFIX + prefix + this.fenceSuffix;
  }

  /** The inbox of a process. It belongs to the prefix, so an ACL can keep the processes of other prefixes out. */
  channel(processId: ProcessId): string {
    return CHANNEL_PREFIX + this.fullPrefix + channelIdOf(processId);
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
    return beside(lockKey, FENCE_PREFIX) + this.fenceSuffix;
  }

  /** Whether the locks of these keys are surely in one slot of a Redis Cluster, because they have one `{tag}`. */
  inOneSlot(keys: readonly string[]): boolean {
    return new Set(keys.map((key) => hashed(this.fullPrefix + key))).size === 1;
  }

  /** What is wrong with a key in Redis Cluster, where a lock and its helpers must be in one slot. */
  clusterFault(key: string): string | undefined {
    const lockKey = this.lock(key);
    const helper = this.outer + this.queue(lockKey);
    if (hashed(this.outer + lockKey) === hashed(helper)) return undefined;
    return 'has a "}" but no "{tag}" before it, so Redis Cluster cannot keep its lock and its queue in one slot';
  }
}

/** A helper's name that hashes to the lock's slot. */
function beside(lockKey: string, prefix: string): string {
  return lockKey.includes('{') && TAG.test(lockKey) ? `${prefix}${lockKey}` : `${prefix}{${lockKey}}`;
}

/** The part of a name from which Redis Cluster computes its slot. */
export function hashed(name: string): string {
  return name.includes('{') ? (TAG.exec(name)?.[1] ?? name) : name;
}

/** Whether a prefix for locks could name a helper key. */
export const meetsHelperKey = (prefix: string): boolean => HELPER.test(prefix);
