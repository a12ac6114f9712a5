import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

import { newProcessId } from '../../../libs/distribute-lock/src/runtime/owner-token.js';
import {
  type AcquireRequest,
  isPassing,
  type LockKind,
  type LockStoreListener,
  type ReleaseRequest,
} from '../../../libs/distribute-lock/src/store/lock-store.js';
import { openMember, type QuorumMember } from '../../../libs/distribute-lock/src/store/quorum/node-connection.js';
import { RedisLockStore } from '../../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { onCleanup } from '../../support/cleanup.js';
import { PREFIX } from './lock-engine.js';

/** The owners of the entries: one process for each, or one process for all. */
export type Owners = 'many' | 'one';

export interface ServerTimes {
  /** The longest call, in ms. */
  readonly longestMs: number;
  /** All calls together, in ms. */
  readonly sumMs: number;
  readonly calls: number;
}

/** Fills the store with tokens of live or dead processes, and reads from SLOWLOG how long calls take. */
export class ServerTimeWorld {
  readonly key = 'timed';
  private sequence = 0;
  private everyone: Redis | undefined = undefined;

  private constructor(
    readonly url: string,
    readonly redis: Redis,
    readonly store: RedisLockStore,
    readonly node: QuorumMember,
    /** The id of a process that receives its messages. */
    readonly live: string,
    /** Tokens of `live` that received an offer, in their order. */
    readonly notified: string[],
  ) {}

  static async open(url: string, redis: Redis): Promise<ServerTimeWorld> {
    const store = RedisLockStore.open(url, { prefix: PREFIX });
    const node = openMember(url, PREFIX);
    onCleanup(async () => {
      node.connection.close();
      await store.close();
    });
    await Promise.all([store.connect(), node.connection.whenReady(1_500)]);
    const live = newProcessId();
    const notified: string[] = [];
    const listener: LockStoreListener = {
      message: ({ type, ownerToken }) => {
        if (type === 'granted') notified.push(ownerToken);
      },
      resubscribed: () => {},
    };
    await store.subscribe(live, listener);
    // The server must not refuse other commands during a slow script.
    await redis.config('SET', 'busy-reply-threshold', '3600000');
    return new ServerTimeWorld(url, redis, store, node, live, notified);
  }

  /** Makes every process receive its messages. */
  async reviveAll(): Promise<void> {
    this.everyone ??= this.redis.duplicate();
    await this.everyone.psubscribe('*');
  }

  async empty(): Promise<void> {
    this.everyone?.disconnect();
    this.everyone = undefined;
    await this.redis.flushall();
  }

  token(process: string, kind: LockKind = 'exclusive', permits = 1): string {
    const suffix = { exclusive: '', write: '', read: ':r', semaphore: `P${permits}:1` }[kind];
    return `${process}:${(this.sequence += 1).toString(36)}${suffix}`;
  }

  tokens(count: number, owners: Owners, kind: LockKind, permits = 1): string[] {
    const one = newProcessId();
    return Array.from({ length: count }, () => this.token(owners === 'one' ? one : newProcessId(), kind, permits));
  }

  acquire(ownerToken: string, options: Partial<AcquireRequest> = {}) {
    const request = { key: this.key, ownerToken, ttlMs: 60_000, wait: true, block: 1, ...options };
    return this.answered(() => this.store.acquire(request));
  }

  release(ownerToken: string, options: Partial<ReleaseRequest> = {}) {
    return this.answered(() => this.store.release({ key: this.key, ownerToken, ...options }));
  }

  renew(ownerToken: string, kind: LockKind) {
    return this.store.renew([{ key: this.key, ownerToken, kind, ttlMs: 60_000 }]);
  }

  /** Repeats the command after the server has recovered: a slow server replies late. */
  private async answered<T>(command: () => PromiseLike<T>): Promise<T> {
    for (;;) {
      try {
        return await command();
      } catch (error) {
        if (!isPassing(error)) throw error;
        await this.redis.ping();
      }
    }
  }

  /** Sends the commands one after the other, so that each call contains one command. */
  async each(tokens: readonly string[], command: (token: string) => PromiseLike<unknown>): Promise<void> {
    for (const token of tokens) await command(token);
  }

  /** Sends all commands at once. */
  async all(tokens: readonly string[], command: (token: string) => PromiseLike<unknown>): Promise<void> {
    for (let i = 0; i < tokens.length; i += 256) await Promise.all(tokens.slice(i, i + 256).map(command));
  }

  /** Repeats the attempt, as a process does, until the lock is granted. */
  async untilGranted(token: string, options: Partial<AcquireRequest> = {}): Promise<void> {
    for (let i = 0; i < 5_000; i += 1) {
      const answer = await this.acquire(token, options);
      if (answer.outcome === 'granted') return;
      if (answer.outcome === 'queued' && answer.remainingMs > 0) await sleep(Math.min(answer.remainingMs, 100));
    }
    throw new Error('The live caller was not served.');
  }

  /** Adds leases that end `endMs` from now. Commands would take a second per thousand. */
  async putLeases(holder: string, tokens: readonly string[], endMs: number): Promise<void> {
    for (const name of await this.redis.keys(`*${PREFIX}${this.key}*`)) {
      if ((await this.redis.type(name)) !== 'zset' || (await this.redis.zscore(name, holder)) === null) continue;
      const pairs = tokens.flatMap((token) => [Date.now() + endMs, token]);
      for (let i = 0; i < pairs.length; i += 2_000) await this.redis.zadd(name, ...pairs.slice(i, i + 2_000));
    }
  }

  /** The server time of the script calls that `calls` makes. */
  async timed(calls: () => Promise<unknown>): Promise<ServerTimes> {
    await this.redis.config('SET', 'slowlog-max-len', '100000');
    await this.redis.slowlog('RESET');
    await this.redis.config('SET', 'slowlog-log-slower-than', '0');
    await calls();
    await this.redis.config('SET', 'slowlog-log-slower-than', '-1');
    const entries = (await this.redis.call('SLOWLOG', 'GET', '-1')) as [number, number, number, string[]][];
    const scripts = entries.filter(([, , , [name]]) => /^eval/i.test(name)).map(([, , micros]) => micros / 1_000);
    return {
      longestMs: Math.max(...scripts),
      sumMs: scripts.reduce((sum, ms) => sum + ms, 0),
      calls: scripts.length,
    };
  }
}
