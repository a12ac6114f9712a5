import { processOf } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import type { SemaphoreTable } from '../../libs/distribute-lock/src/store/memory/semaphore-table.js';
import { QUEUE_TTL_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { living, pairs, sameTime, show } from './comparing.js';
import type { RedisSide } from './side-by-side.js';

/** The parts of the table that a test changes directly, because the clock of a server cannot be changed. */
interface Inside {
  readonly leases: { readonly leases: ReadonlyMap<string, Map<string, number>> };
  readonly places: {
    readonly countUntil: Map<string, Map<string, number>>;
    endOf(key: string, ownerToken: string): number;
  };
}

/** A time in the past on every clock. */
const PAST = 1;

/** The semaphore of one key, in a table and in Redis. */
export class SemaphoreSides {
  /** A foreign client has written the keys, so they may end at different times. */
  touched = false;
  /** Whether the key was used as a semaphore. */
  used = false;

  constructor(
    private readonly redis: RedisSide,
    private readonly key: string,
    readonly table: SemaphoreTable,
  ) {}

  expireTable(ownerToken: string): void {
    const leases = this.inside.leases.leases.get(this.key);
    if (leases?.has(ownerToken)) leases.set(ownerToken, PAST);
    this.touched = true;
  }

  silenceTable(ownerToken: string): void {
    const { countUntil } = this.inside.places;
    const process = processOf(ownerToken)!;
    const ends = countUntil.get(this.key);
    if (ends?.has(process) === true) ends.set(process, PAST);
  }

  async expireRedis(ownerToken: string): Promise<void> {
    const [held] = this.names;
    await this.redis.client.zadd(held, 'XX', PAST, ownerToken);
  }

  async silenceRedis(ownerToken: string): Promise<object> {
    const [, , placesName] = this.names;
    await this.redis.client.zadd(placesName, 'XX', PAST, processOf(ownerToken)!);
    return {};
  }

  /** Compares leases and places. In Redis the lock and the leases end with the last lease, to the millisecond. */
  async compare(): Promise<string | undefined> {
    if (!this.used) return undefined;
    const { client, keys } = this.redis;
    const lock = keys.lock(this.key);
    const [held, queue, placesName] = this.names;
    const replies = await client
      .pipeline()
      .get(lock)
      .zrange(held, '0', '-1', 'WITHSCORES')
      .pexpiretime(lock)
      .pexpiretime(held)
      .zrange(queue, '0', '-1')
      .zrange(placesName, '0', '-1', 'WITHSCORES')
      .pttl(queue)
      .pttl(placesName)
      .exec();
    const [value, leases, lockEnds, heldEnds, waiting, places, ...ttls] = (replies ?? []).map(([, reply]) => reply);
    const isSemaphore = /^semaphore:\d+$/.test(String(value));
    return (
      (isSemaphore ? this.compareLeases(living(leases as string[]), Number(lockEnds), Number(heldEnds)) : undefined) ??
      this.comparePlaces(waiting as string[], pairs(places as string[]), ttls.map(Number))
    );
  }

  private compareLeases(actual: Map<string, number>, lockEnds: number, heldEnds: number): string | undefined {
    const expected = this.table.live(this.key);
    const difference = `the table has leases ${show(expected)}, Redis ${show(actual)}`;
    if (!sameTimes(expected, actual)) return difference;
    if (this.touched || actual.size === 0) return undefined;
    const last = Math.max(...actual.values());
    return lockEnds === last && heldEnds === last ? undefined : `${difference}, which end at ${lockEnds}, ${heldEnds}`;
  }

  private comparePlaces(
    actual: readonly string[],
    places: Map<string, number>,
    ttls: readonly number[],
  ): string | undefined {
    const waiting = this.table.queued(this.key);
    const processes = new Map(waiting.map((ownerToken) => [processOf(ownerToken)!, ownerToken]));
    const expected = new Map(
      [...processes].map(([process, ownerToken]) => [process, this.inside.places.endOf(this.key, ownerToken)]),
    );
    const found = new Map([...places].filter(([member]) => processes.has(member)));
    if (JSON.stringify(actual) !== JSON.stringify(waiting)) {
      return `the table has waiters ${JSON.stringify(waiting)}, Redis ${JSON.stringify(actual)}`;
    }
    if (!sameTimes(expected, found)) return `the table has places ${show(expected)}, Redis ${show(found)}`;
    const endless = waiting.length > 0 && ttls.some((ttlMs) => ttlMs <= 0 || ttlMs > QUEUE_TTL_MS);
    return endless ? `the queue ends in ${JSON.stringify(ttls)} ms` : undefined;
  }

  private get inside(): Inside {
    return this.table as unknown as Inside;
  }

  private get names(): readonly [held: string, queue: string, places: string] {
    const { keys } = this.redis;
    return keys.permits(keys.lock(this.key));
  }
}

const sameTimes = (expected: ReadonlyMap<string, number>, actual: ReadonlyMap<string, number>): boolean =>
  expected.size === actual.size &&
  [...expected].every(([ownerToken, at]) => sameTime(at, actual.get(ownerToken) ?? -1));
