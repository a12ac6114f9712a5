import type { Clock } from '../../runtime/clock.js';
import { processOf } from '../../runtime/owner-token.js';
import { deleteForeignScript } from '../generated/lua-scripts.js';
import { takeAway } from '../lock-admin.js';
import type { LockState } from '../lock-store.js';
import { stateOfValue } from '../lock-value.js';
import { inTime, messageOf, storeError, unknownReply } from './redis-errors.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';
import { isCount, isFlag, isLeftMs } from '../reply-checks.js';
import { isCluster, type RedisClient } from './redis-client.js';

/** Limit for a request of an operator. */
const ANSWER_LIMIT_MS = 2_000;

/** Inspects locks and releases them by force. These operations are rare, so they use plain commands where possible. */
export class RedisAdmin {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    private readonly clock: Clock,
  ) {}

  /** Reads the parts of the state at almost the same time; the result is advisory. */
  async inspect(key: string): Promise<LockState> {
    const lockKey = this.keys.lock(key);
    const [permits, permitsQueue] = this.keys.permits(lockKey);
    await this.connection.whenReady(ANSWER_LIMIT_MS, lockKey);
    const replies = await this.results(
      lockKey,
      this.connection.client
        .pipeline()
        .get(lockKey)
        .pttl(lockKey)
        .zrange(this.keys.readers(lockKey), '0', '-1', 'WITHSCORES')
        .zrange(permits, '0', '-1', 'WITHSCORES')
        .zcard(this.keys.queue(lockKey))
        .zcard(permitsQueue)
        .time()
        .exec(),
    );
    if (!isInspection(replies)) throw unknownReply(replies);
    const [value, leftMs, readers, holders, waiting, waitingForPermits, time] = replies;
    const is = stateOfValue(value ?? undefined, living(readers, time), living(holders, time));
    return {
      ...is,
      remainingMs: is.kind === 'free' ? 0 : leftMs,
      waiting: waiting + waitingForPermits,
    };
  }

  async force(store: Parameters<typeof takeAway>[0], key: string, only?: string): Promise<boolean> {
    const { client } = this.connection;
    const lockKey = this.keys.lock(key);
    const deleteForeign = async (value: string): Promise<boolean> => {
      // The value of a foreign client may be binary, so its bytes are compared.
      const bytes = await this.inTime(lockKey, client.getBuffer(lockKey));
      if (bytes?.toString() !== value) return false;
      const keys = [lockKey, this.keys.readers(lockKey), this.keys.permits(lockKey)[0]];
      const deleted = Number(await this.inTime(lockKey, client.eval(deleteForeignScript.lua, 3, ...keys, bytes)));
      if (!isFlag(deleted)) throw unknownReply(deleted);
      return deleted === 1;
    };
    return takeAway(store, key, await this.inspect(key), deleteForeign, only);
  }

  /** Without the permission to publish, the next renewal notifies the holder. */
  async revoked(key: string, ownerToken: string): Promise<unknown> {
    const lockKey = this.keys.lock(key);
    const sent = this.connection.client.publish(
      this.keys.channel(processOf(ownerToken)!),
      `v ${ownerToken} ${lockKey}`,
    );
    return this.inTime(lockKey, sent).catch(() => undefined);
  }

  private async results(
    lockKey: string,
    answers: Promise<[error: Error | null, result: unknown][] | null>,
  ): Promise<unknown[]> {
    const replies = await this.inTime(lockKey, answers);
    return (replies ?? []).map(([error, result]) => {
      if (error !== null) throw storeError(error, this.connection.serverOf(lockKey));
      return result;
    });
  }

  private inTime<T>(lockKey: string, answer: Promise<T>): Promise<T> {
    void this.connection.linkOf(lockKey)?.track(answer);
    answer.catch((error: unknown) => this.connection.noticeDemotion(messageOf(error)));
    return inTime(answer, ANSWER_LIMIT_MS, this.clock);
  }
}

/** Owner tokens and the ends of their leases in ms: pairs with RESP3, a flat list otherwise. */
type LeaseWords = readonly (string | number | readonly (string | number)[])[];

/** Replies to the commands of an inspection. */
type Inspection = readonly [
  value: string | null,
  leftMs: number,
  readers: LeaseWords,
  holders: LeaseWords,
  waiting: number,
  waitingForPermits: number,
  time: readonly (number | string)[],
];

function isInspection(replies: readonly unknown[]): replies is Inspection {
  const [value, leftMs, readers, holders, waiting, waitingForPermits, time] = replies;
  return (
    (value === null || typeof value === 'string') &&
    isLeftMs(leftMs) &&
    [readers, holders].every((leases) => Array.isArray(leases)) &&
    [waiting, waitingForPermits].every(isCount) &&
    Array.isArray(time) &&
    time.length === 2 &&
    time.every((part) => isCount(Number(part)))
  );
}

/** Filters expired leases, which remain until the next command for the lock. */
function living(leases: LeaseWords, [seconds, microseconds]: readonly (number | string)[]): string[] {
  const nowMs = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  const words = leases.flat();
  return words.filter((_, i) => i % 2 === 0 && Number(words[i + 1]) > nowMs).map(String);
}

/** Policies by which a full server evicts locks; locks have a ttl, so `volatile-` policies evict them too. */
const EVICTS = /^maxmemory_policy:((?:allkeys|volatile)-\S+)/m;
const UNLIMITED = /^maxmemory:0\s*$/m;

/**
 * Warns about servers that may evict locks. Uses `INFO`, which includes the policy and needs no permission to read the
 * configuration.
 */
export async function evictionAdvice(_layout: unknown, client: RedisClient): Promise<readonly string[]> {
  const servers = isCluster(client) ? client.nodes('master') : [client];
  // A server that rejects INFO is skipped.
  const infos = await Promise.all(servers.map((server) => server.info('memory').catch(() => '')));
  const policies = infos.flatMap((info) => (UNLIMITED.test(info) ? [] : (EVICTS.exec(info)?.[1] ?? [])));
  return [...new Set(policies)].map(
    (policy) =>
      `A full Redis may evict locks (maxmemory-policy ${policy}), so that two holders run at once. ` +
      'Set noeviction, or use a separate server.',
  );
}
