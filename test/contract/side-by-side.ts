import type { Redis } from 'ioredis';

import {
  LockStoreError,
  type LockMessage,
  type LockName,
  type LockStore,
} from '../../libs/distribute-lock/src/store/lock-store.js';
import { SemaphoreTable } from '../../libs/distribute-lock/src/store/memory/semaphore-table.js';
import { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import { CLAIM_WINDOW_MS, QUEUE_TTL_MS, SHORT_OFFER_MS } from '../../libs/distribute-lock/src/store/protocol.js';
import { READERS } from '../../libs/distribute-lock/src/store/lock-value.js';
import type { ReaderLeases } from '../../libs/distribute-lock/src/store/memory/read-write-steps.js';
import { isReader } from '../../libs/distribute-lock/src/store/memory/table-state.js';
import type { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import type { Tables } from '../simulation/tables.js';
import type { TokenQueues } from '../../libs/distribute-lock/src/store/memory/token-queues.js';
import { living, sameTime, show, TOLERANCE_MS } from './comparing.js';
import { SemaphoreSides } from './semaphore-sides.js';
import type { Command, Sequence } from './command-sequence.js';

// A longer sequence proves nothing: an offer may have ended on one side only.
const MOST_MS = TOLERANCE_MS - 300;
const MOST_SHORT_MS = SHORT_OFFER_MS - 50;

/** Longer than the limit for heartbeats, even on a slow machine. */
const SILENT_MS = CLAIM_WINDOW_MS + TOLERANCE_MS;
/** As in `lib/queue.lua`. */
const STAMPS = 2 ** 16;

/** The Redis side, and the processes that listen there. */
export interface RedisSide {
  readonly store: LockStore;
  readonly client: Redis;
  readonly keys: RedisKeys;
  readonly listening: ReadonlySet<string>;
}

/** The result of one sequence. */
export interface Comparison {
  /** False when the machine was too slow for a comparison. */
  readonly counts: boolean;
  readonly difference?: string;
  /** Messages of the model, to be compared once those of Redis have arrived. */
  readonly messages: readonly LockMessage[];
}

/** Any reply of a command. */
interface Answer {
  readonly outcome?: string;
  readonly fencingToken?: number;
  readonly remainingMs?: number;
  readonly waiting?: number;
  readonly renewed?: unknown;
}

/** Sends the commands of one key to a lock table and to Redis, and compares after every step. */
export class SideBySide {
  private readonly messages: LockMessage[] = [];
  private readonly table: LockTable;
  private readonly semaphores: SemaphoreSides;
  /** Whether a test ended the lease of a reader. */
  private expired = false;
  private mostMs = MOST_MS;
  /** The first fencing token that each side has not issued yet. */
  private readonly unused = { table: 0, redis: 0 };

  constructor(
    private readonly redis: RedisSide,
    private readonly key: string,
    { makeTable = (world) => new LockTable(world), makeSemaphores }: Partial<Tables> = {},
  ) {
    const now = (): number => performance.timeOrigin + performance.now();
    const world = {
      now,
      // the clock of a wrong client
      clientNow: () => now() + 3_600_000,
      publish: (processId: string, message: LockMessage) => {
        if (!redis.listening.has(processId)) {
          this.mostMs = MOST_SHORT_MS;
          return 0;
        }
        this.messages.push(message);
        return 1;
      },
    };
    this.table = makeTable(world);
    this.semaphores = new SemaphoreSides(
      redis,
      key,
      makeSemaphores?.(world, this.table) ?? new SemaphoreTable(world, this.table),
    );
  }

  async run(sequence: Sequence): Promise<Comparison> {
    const startedAt = performance.now();
    let difference: string | undefined;
    for (const [i, commands] of sequence.entries()) {
      try {
        difference = await this.step(commands);
      } catch (error) {
        if (error instanceof LockStoreError && error.passing) return { counts: false, messages: [] };
        throw error;
      }
      if (difference === undefined) continue;
      difference = `${difference} after step ${i} of ${JSON.stringify(sequence, null, 1)}`;
      break;
    }
    const counts = performance.now() - startedAt < this.mostMs;
    return { counts, messages: this.messages, ...(counts && difference !== undefined ? { difference } : {}) };
  }

  private async step(commands: readonly Command[]): Promise<string | undefined> {
    const answers = commands.map((command) => this.toRedis(command));
    const expected = commands.map((command) => this.toTable(command));
    for (const [i, answer] of (await Promise.all(answers)).entries()) {
      const difference = this.compareAnswers(commands[i], expected[i], answer);
      if (difference !== undefined) return difference;
    }
    const differences = await Promise.all([this.compareKeys(), this.semaphores.compare()]);
    return differences.find((difference) => difference !== undefined);
  }

  private toTable(command: Command): Answer {
    if (command.type === 'acquire') return this.tableOf(command.request).acquire(command.request);
    if (command.type === 'release') return this.tableOf(command.request).release(command.request);
    if (command.type === 'renew') return { renewed: this.tableOf(command.request).renew(command.request) };
    if (command.type === 'downgrade') return { renewed: this.table.downgrade(command.request) };
    // The table does not distinguish an ended lease from a missing one.
    if (command.type === 'silence') this.silence(command.ownerToken);
    else if (command.type === 'expire') this.expire(command.ownerToken);
    else {
      this.semaphores.touched = true;
      this.table.overwrite(this.key, command.owner, command.ttlMs);
    }
    return {};
  }

  private tableOf({ kind }: LockName): LockTable | SemaphoreTable {
    if (kind !== 'semaphore') return this.table;
    this.semaphores.used = true;
    return this.semaphores.table;
  }

  private expire(ownerToken: string): void {
    this.semaphores.expireTable(ownerToken);
    (this.table as unknown as { readonly leases: ReaderLeases }).leases.end(this.key, ownerToken);
    this.expired = true;
  }

  /** Makes a waiter miss its heartbeats for a claim window. */
  private silence(ownerToken: string): void {
    this.semaphores.silenceTable(ownerToken);
    (this.table as unknown as { readonly queues: TokenQueues }).queues.silence(this.key, ownerToken, SILENT_MS);
  }

  private async silenceRedis(ownerToken: string): Promise<object> {
    const { client, keys } = this.redis;
    const queue = keys.queue(keys.lock(this.key));
    const score = await client.zscore(queue, ownerToken);
    const stamp = ((Date.now() - SILENT_MS) % STAMPS) / STAMPS;
    if (score !== null) await client.zadd(queue, 'XX', Math.floor(Number(score)) + stamp, ownerToken);
    return this.semaphores.silenceRedis(ownerToken);
  }

  private async toRedis(command: Command): Promise<Answer> {
    const { store, client, keys } = this.redis;
    if (command.type === 'acquire') return store.acquire(command.request);
    if (command.type === 'release') return store.release(command.request);
    if (command.type === 'renew') return { renewed: (await store.renew([command.request]))[0] };
    if (command.type === 'downgrade') return { renewed: await store.downgrade!(command.request) };
    const name = keys.lock(this.key);
    if (command.type === 'silence') return this.silenceRedis(command.ownerToken);
    if (command.type === 'expire') {
      await this.semaphores.expireRedis(command.ownerToken);
      await client.zadd(keys.readers(name), 'XX', Date.now() - 1, command.ownerToken);
      return {};
    }
    const { owner, ttlMs } = command;
    if (owner === undefined) await client.del(name);
    else if (ttlMs === undefined) await client.set(name, owner);
    else await client.set(name, owner, 'PX', ttlMs);
    return {};
  }

  private compareAnswers(command: Command, expected: Answer, actual: Answer): string | undefined {
    const difference = `${JSON.stringify(command)}: the table replies ${JSON.stringify(expected)}, Redis ${JSON.stringify(actual)}`;
    if (!('request' in command)) return undefined;
    const { fencingToken: tableNumber, remainingMs: tableLeft, waiting, ...rest } = expected;
    const { fencingToken: redisNumber, remainingMs: redisLeft, waiting: redisWaiting, ...redisRest } = actual;
    if (JSON.stringify(sorted(rest)) !== JSON.stringify(sorted(redisRest))) return difference;
    if (command.type === 'acquire' && waiting !== redisWaiting) return difference;
    if (!sameTime(tableLeft ?? 0, redisLeft ?? 0)) return difference;
    if (tableNumber === undefined || redisNumber === undefined)
      return tableNumber === redisNumber ? undefined : difference;
    return this.compareNumbers(command, tableNumber, redisNumber)
      ? undefined
      : `${difference}, a number that is not new`;
  }

  /** The sides may issue different fencing tokens, but each must be new on its side. */
  private compareNumbers(command: Command, table: number, redis: number): boolean {
    const { unused } = this;
    const fresh = table >= unused.table && redis >= unused.redis && Number.isSafeInteger(redis);
    const block = blockOf(command);
    unused.table = table + block;
    unused.redis = redis + block;
    return fresh;
  }

  private async compareKeys(): Promise<string | undefined> {
    const { client, keys } = this.redis;
    const lock = keys.lock(this.key);
    const queue = keys.queue(lock);
    const replies = await client.pipeline().get(lock).pttl(lock).zrange(queue, '0', '-1').pttl(queue).exec();
    const [owner, leftMs, queued, queueLeftMs] = (replies ?? []).map(([, reply]) => reply);
    const waiting = this.table.queued(this.key);
    // In Redis readers come before all others.
    const inOrder = [...waiting.filter(isReader), ...waiting.filter((token) => !isReader(token))];
    const expected = { owner: this.table.owner(this.key) ?? null, queued: inOrder };
    if (JSON.stringify({ owner, queued }) !== JSON.stringify(expected)) {
      return `the table has ${JSON.stringify(expected)}, Redis ${JSON.stringify({ owner, queued })}`;
    }
    const expectedMs = expected.owner === null ? -2 : this.table.leftMs(this.key);
    if (!sameTime(expectedMs, Number(leftMs)))
      return `the lock ends in ${expectedMs} ms, in Redis in ${String(leftMs)}`;
    const endless = expected.queued.length > 0 && (Number(queueLeftMs) <= 0 || Number(queueLeftMs) > QUEUE_TTL_MS);
    if (endless) return `the queue ends in ${String(queueLeftMs)} ms`;
    return owner === READERS ? this.compareReaders() : undefined;
  }

  /** Compares the leases of readers. In Redis the lock and the leases end with the last lease, to the millisecond. */
  private async compareReaders(): Promise<string | undefined> {
    const { client, keys } = this.redis;
    const lock = keys.lock(this.key);
    const readers = keys.readers(lock);
    const replies = await client
      .pipeline()
      .zrange(readers, '0', '-1', 'WITHSCORES')
      .pexpiretime(lock)
      .pexpiretime(readers)
      .pttl(keys.gate(lock))
      .exec();
    const [scores, lockEnds, readersEnd, gateLeftMs] = (replies ?? []).map(([, reply]) => reply);
    const actual = living(scores as string[]);
    const expected = new Map(this.table.readers(this.key).map(({ ownerToken, endsAt }) => [ownerToken, endsAt]));
    const difference = `the table has leases ${show(expected)}, Redis ${show(actual)}`;
    if (expected.size !== actual.size) return difference;
    for (const [token, endsAt] of expected) {
      if (!sameTime(endsAt, actual.get(token) ?? -1)) return difference;
    }
    // A lease that the test ended affects the end of the lock only with the next command of a reader.
    const exact = lockEnds === readersEnd && (this.expired || lockEnds === Math.max(...actual.values()));
    if (!exact) return `${difference}, which end at ${String(lockEnds)}, ${String(readersEnd)}`;
    const gateMs = Math.max(Number(gateLeftMs), 0);
    const expectedMs = this.table.gateLeftMs(this.key);
    const sameGate = gateMs > 0 === expectedMs > 0 && sameTime(expectedMs, gateMs);
    return sameGate ? undefined : `the gate opens in ${expectedMs} ms, in Redis in ${String(gateLeftMs)}`;
  }
}

const sorted = (answer: object): unknown => Object.entries(answer).sort(([a], [b]) => (a < b ? -1 : 1));

function blockOf(command: Command): number {
  if (command.type === 'acquire') return command.request.block;
  if (command.type !== 'release') return 0;
  return (command.request.next ?? command.request.grantOwn)?.block ?? 0;
}
