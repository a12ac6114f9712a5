import { channelIdOf, type ProcessId } from '../../runtime/owner-token.js';

/** Prefixes of helper keys. The number is the version of the protocol; processes of another version use other names. */
const QUEUE_PREFIX = 'q1:';
const FENCE_PREFIX = 'f1:';
const READERS_PREFIX = 'r1:';
const GATE_PREFIX = 'g1:';
const PERMITS_PREFIX = 's1:';
const PERMITS_QUEUE_PREFIX = 'sq1:';
const PERMITS_PLACES_PREFIX = 'sa1:';
const MEMBERS_PREFIX = 'qm1:';
const PROCESS_PREFIX = 'p1:';
const TICKET_PREFIX = 't1:';
/** A lock prefix of this form could name a helper key of this or another version of the protocol. */
const HELPER = /^(?:[fgpqrst]|s[aq]|qm)\d*(?::|$)/;

/** Names of helpers that are sorted sets. */
const SORTED_SET = /^(?:[qrs]|s[aq]|qm)1:/;

export const isSortedSet = (name: string): boolean => SORTED_SET.test(name);

/** The scripts build the same name in `store/protocol/notify.ts`. */
const CHANNEL_PREFIX = 'nestjs-lock:1:';

/** A `{tag}` that Redis Cluster hashes instead of the whole key. */
const TAG = /^[^{]*\{([^}]+)\}/;

/** Names of keys in Redis: the key of a lock, and its helpers in the same hash slot. */
export class RedisKeys {
  /** The counter of fencing tokens: one for all locks of the prefix. */
  readonly fence: string;
  /**
   * Suffix of counter names with the length of the prefix. The scripts use it to find the prefix of a lock name,
   * with which their channels begin.
   */
  private readonly fenceSuffix: string;

  /** @param prefix - the full prefix of every key in Redis, with the `keyPrefix` of the client */
  constructor(readonly prefix: string) {
    this.fenceSuffix = `:${Buffer.byteLength(prefix)}`;
    this.fence = FENCE_PREFIX + prefix + this.fenceSuffix;
  }

  /** The inbox of a process. Its name includes the prefix, so that an ACL can exclude processes of other prefixes. */
  channel(processId: ProcessId): string {
    return CHANNEL_PREFIX + this.prefix + channelIdOf(processId);
  }

  /** The channels of all processes, as a pattern. */
  get channels(): string {
    return `${CHANNEL_PREFIX}${this.prefix}*`;
  }

  /** The inbox of a process for one lock, in its slot of a large Cluster. The scripts build the same name. */
  shardChannel(processId: ProcessId, lockKey: string): string {
    return `${this.channel(processId)}:${this.fenceOf(lockKey)}`;
  }

  /** The channel of hints; no inbox has this name, because an id of a process contains no colon. */
  get hints(): string {
    return `${CHANNEL_PREFIX}${this.prefix}hints:1`;
  }

  /** A channel without subscribers. */
  get probe(): string {
    return `${CHANNEL_PREFIX}${this.prefix}probe:1`;
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

  /** Exists while a writer waits for readers. */
  gate(lockKey: string): string {
    return beside(lockKey, GATE_PREFIX);
  }

  /** Helpers of permits: their leases, their queue, and the times until which its places count. */
  permits(lockKey: string): readonly [held: string, queue: string, places: string] {
    return [
      beside(lockKey, PERMITS_PREFIX),
      beside(lockKey, PERMITS_QUEUE_PREFIX),
      beside(lockKey, PERMITS_PLACES_PREFIX),
    ];
  }

  /** The record of the nodes of a quorum, on each of its nodes. */
  get members(): string {
    return MEMBERS_PREFIX + this.prefix;
  }

  /** The record of a process; the names of its answers begin with it. */
  process(processId: ProcessId): string {
    return PROCESS_PREFIX + this.prefix + channelIdOf(processId);
  }

  /** The record of a ticket. */
  ticket(id: string): string {
    return TICKET_PREFIX + this.prefix + id;
  }

  /** The fencing counter of one lock, where locks cannot share one. */
  fenceOf(lockKey: string): string {
    return beside(lockKey, FENCE_PREFIX) + this.fenceSuffix;
  }

  /** Whether the keys share one `{tag}`, so that their locks are in one slot of a Redis Cluster. */
  inOneSlot(keys: readonly string[]): boolean {
    return new Set(keys.map((key) => hashed(this.lock(key)))).size === 1;
  }

  /** Reason why a key is invalid in Redis Cluster, where a lock and its helpers must be in one slot. */
  clusterFault(key: string): string | undefined {
    const lockKey = this.lock(key);
    if (hashed(lockKey) === hashed(this.queue(lockKey))) return undefined;
    return 'has a "}" but no "{tag}" before it, so Redis Cluster cannot keep its lock and its queue in one slot';
  }
}

/** The name of a helper, which hashes to the slot of the lock. */
function beside(lockKey: string, prefix: string): string {
  return lockKey.includes('{') && TAG.test(lockKey) ? `${prefix}${lockKey}` : `${prefix}{${lockKey}}`;
}

/** The part of a name from which Redis Cluster computes its slot. */
export function hashed(name: string): string {
  return name.includes('{') ? (TAG.exec(name)?.[1] ?? name) : name;
}

/** Whether a lock prefix could name a helper key. */
export const meetsHelperKey = (prefix: string): boolean => HELPER.test(prefix);

/** Table of the CRC16 (XMODEM) with which Redis Cluster hashes keys, one entry per byte. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});
const SLOTS = 16_384;

/** The slot of a key in Redis Cluster. */
export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(hashed(key))) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte];
  return crc % SLOTS;
}
