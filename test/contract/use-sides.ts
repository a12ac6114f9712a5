import { randomBytes } from 'node:crypto';

import type { LockMessage } from '../../libs/distribute-lock/src/store/lock-store.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { Random } from '../simulation/random.js';
import type { Tables } from '../simulation/tables.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { sequenceOf, type DrawCommand } from './command-sequence.js';
import { SideBySide, type Comparison, type RedisSide } from './side-by-side.js';

/**
 * Number of concurrent sequences, each over its own connection, so that their commands are sent alone. More of them take as long in
 * all, and on a slow machine each exceeds its time, so that it does not count.
 */
const LANES = 4;

const newProcess = (): string => randomBytes(16).toString('base64url');

/** A Redis and lock tables for the same four processes, two of which listen. */
export class Sides {
  private readonly redis = useRedis();
  private readonly processes = [newProcess(), newProcess(), newProcess(), newProcess()] as const;
  private readonly listening = new Set(this.processes.slice(0, 2));
  private readonly received = new Map<string, LockMessage[]>();
  private lanes: readonly RedisSide[] = [];
  private compared = 0;

  constructor(private readonly draw?: DrawCommand) {}

  async open(): Promise<void> {
    const { client, prefix } = this.redis;
    const message = (text: LockMessage): void => {
      this.received.set(text.key, [...(this.received.get(text.key) ?? []), text]);
    };
    for (const process of this.listening) {
      await this.openStore().subscribe(process, { message, resubscribed: () => undefined });
    }
    const keys = new RedisKeys(prefix);
    const { listening } = this;
    this.lanes = Array.from({ length: LANES }, () => ({ store: this.openStore(), client, keys, listening }));
    await Promise.all(this.lanes.map(({ store }) => store.connect()));
    // Loads the scripts first: a call with an unknown script is sent again, behind a later call with a known one.
    const kinds = ['exclusive', 'read', 'semaphore'] as const;
    await this.lane.store.renew(
      kinds.map((kind) => ({ key: 'none', ownerToken: this.tokenOf(0, 0), kind, ttlMs: 1_000 })),
    );
  }

  get lane(): RedisSide {
    return this.lanes[0];
  }

  tokenOf(process: number, sequence: number): string {
    return `${this.processes[process]}:${sequence}`;
  }

  /** Compares `count` sequences and their messages. A slow machine may invalidate some of them, but not all. */
  async compareAll(count: number): Promise<void> {
    const startedAt = performance.now();
    let [tried, counted] = [0, 0];
    await Promise.all(
      this.lanes.map(async (lane) => {
        while (counted < count && tried < 10 * count) {
          const { counts, difference, messages, key } = await this.compare(lane, (tried += 1));
          if (!counts) continue;
          counted += 1;
          expect(difference).toBeUndefined();
          await this.compareMessages(key, messages);
        }
      }),
    );
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    process.stdout.write(`differential: ${counted} sequences of ${tried}, ${seconds} s\n`);
    expect(counted).toBeGreaterThanOrEqual(count);
  }

  /** Fails if the table behaves like Redis in `most` sequences. */
  async expectDifference(tables: Partial<Tables>, most = 1_000): Promise<void> {
    for (let seed = 1; seed <= most; seed += 1) {
      const { counts, difference } = await this.compare(this.lanes[seed % LANES], seed, tables);
      if (counts && difference !== undefined) return;
    }
    throw new Error('no sequence showed the difference');
  }

  /** The sequence with this number; the same number gives the same sequence. */
  private async compare(
    lane: RedisSide,
    seed: number,
    tables?: Partial<Tables>,
  ): Promise<Comparison & { readonly key: string }> {
    // A late command of one comparison must not be part of the next.
    const key = `differential-${seed}-${(this.compared += 1)}`;
    const sequence = sequenceOf(new Random(seed), key, this.processes, this.draw);
    const comparison = await new SideBySide(lane, key, tables).run(sequence);
    const { keys } = lane;
    const lock = keys.lock(key);
    await lane.client.del(lock, keys.queue(lock), keys.readers(lock), keys.gate(lock), ...keys.permits(lock));
    return { ...comparison, key };
  }

  /** Two processes use two connections, so only the messages of one process have an order. */
  private async compareMessages(key: string, messages: readonly LockMessage[]): Promise<void> {
    const sent = await eventually(() => {
      expect(this.received.get(key)?.length ?? 0).toBeGreaterThanOrEqual(messages.length);
      return this.received.get(key) ?? [];
    });
    expect(this.byProcess(sent)).toEqual(this.byProcess(messages));
  }

  private byProcess(messages: readonly LockMessage[]): LockMessage[][] {
    return this.processes.map((process) =>
      withReadersSorted(messages.filter(({ ownerToken }) => ownerToken.startsWith(process)).map(asWarning)),
    );
  }

  private openStore(): RedisLockStore {
    const store = RedisLockStore.open(this.redis.url, { prefix: this.redis.prefix });
    onCleanup(() => store.close());
    return store;
  }
}

/** A process that holds permits receives one notice of contention, for any of its leases. */
const asWarning = (message: LockMessage): LockMessage =>
  message.type === 'contended' && /:\w+:\d+$/.test(message.ownerToken)
    ? { ...message, ownerToken: message.ownerToken.replace(/:\w+:\d+$/, '') }
    : message;

/** Readers are notified in the order in which their leases end, which is random for equal ends. */
function withReadersSorted(messages: readonly LockMessage[]): LockMessage[] {
  const sorted = [...messages];
  for (let from = 0, to = 0; to <= sorted.length; to += 1) {
    if (sorted[to]?.type === 'contended') continue;
    const reported = sorted.slice(from, to).sort((a, b) => (a.ownerToken < b.ownerToken ? -1 : 1));
    sorted.splice(from, reported.length, ...reported);
    from = to + 1;
  }
  return sorted;
}
