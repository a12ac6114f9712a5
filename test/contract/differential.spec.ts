import { randomBytes } from 'node:crypto';

import type { LockMessage } from '../../libs/distribute-lock/src/store/lock-store.js';
import type { LockTable, TableWorld } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import { RedisKeys } from '../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { Random } from '../simulation/random.js';
import { TABLE_MUTANTS } from '../simulation/table-mutants.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { sequenceOf } from './command-sequence.js';
import { SideBySide, type Comparison, type RedisSide } from './side-by-side.js';

const SEQUENCES = 10_000;
/** So many sequences are under way at the same time, each over a connection of its own, so that their commands leave alone. */
const LANES = 12;
/** A slow machine may make sequences useless, but not all of them. */
const MOST_TRIES = 2 * SEQUENCES;

const newProcess = (): string => randomBytes(16).toString('base64url');

type MakeTable = (world: TableWorld) => LockTable;

describe('The lock table and the scripts', () => {
  const redis = useRedis();
  const { prefix } = redis;
  const keys = new RedisKeys(prefix);
  const [alice, bob, carol, dave] = [newProcess(), newProcess(), newProcess(), newProcess()] as const;
  const listening = new Set([alice, bob]);
  const heard = new Map<string, LockMessage[]>();
  let lanes: RedisSide[];

  const open = (): RedisLockStore => {
    const store = RedisLockStore.open(redis.url, { prefix });
    onCleanup(() => store.close());
    return store;
  };

  beforeAll(async () => {
    const message = (text: LockMessage): void => {
      if (!heard.has(text.key)) heard.set(text.key, []);
      heard.get(text.key)!.push(text);
    };
    for (const process of listening) await open().subscribe(process, { message, resubscribed: () => undefined });
    lanes = Array.from({ length: LANES }, () => ({ store: open(), client: redis.client, keys, listening }));
    await Promise.all(lanes.map(({ store }) => store.connect()));
  });

  /** The sequence of this number; the number repeats it. */
  async function compare(lane: RedisSide, seed: number, makeTable?: MakeTable): Promise<Comparison & { key: string }> {
    const key = `differential-${seed}`;
    const sequence = sequenceOf(new Random(seed), key, [alice, bob, carol, dave]);
    const comparison = await new SideBySide(lane, key, makeTable).run(sequence);
    await redis.client.del(keys.lock(key), keys.queue(keys.lock(key)));
    return { ...comparison, key };
  }

  it(`answer the same and leave the same behind in ${SEQUENCES} sequences of commands`, async () => {
    const startedAt = performance.now();
    let [tried, counted] = [0, 0];
    await Promise.all(
      lanes.map(async (lane) => {
        while (counted < SEQUENCES && tried < MOST_TRIES) {
          const { counts, difference, messages, key } = await compare(lane, (tried += 1));
          if (!counts) continue;
          counted += 1;
          expect(difference).toBeUndefined();
          const sent = await eventually(() => {
            expect(heard.get(key)?.length ?? 0).toBeGreaterThanOrEqual(messages.length);
            return heard.get(key) ?? [];
          });
          expect(byProcess(sent)).toEqual(byProcess(messages));
        }
      }),
    );
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    process.stdout.write(`differential: ${counted} sequences of ${tried}, ${seconds} s\n`);
    expect(counted).toBeGreaterThanOrEqual(SEQUENCES);
  }, 120_000);

  it('issue numbers that rise though the counter is lost', async () => {
    const [{ store }] = lanes;
    const request = { key: 'lost-counter', ttlMs: 20_000, wait: false, block: 64 };
    const before = await store.acquire({ ...request, ownerToken: `${alice}:1` });
    await redis.client.del(keys.fence, keys.lock(request.key));
    const after = await store.acquire({ ...request, ownerToken: `${bob}:1` });

    expect([before, after]).toMatchObject([{ outcome: 'granted' }, { outcome: 'granted' }]);
    if (before.outcome !== 'granted' || after.outcome !== 'granted') return;
    expect(after.fencingToken).toBeGreaterThanOrEqual(before.fencingToken + request.block);
  });

  // Which numbers are issued is each side's own business, so that one is seen by the simulation only.
  const visible = Object.entries(TABLE_MUTANTS).filter(([name]) => !name.includes('only the last one'));

  it.each(visible)('differ by %s', async (_, makeTable) => {
    for (let seed = 1; seed <= 1_000; seed += 1) {
      const { counts, difference } = await compare(lanes[seed % LANES], seed, makeTable);
      if (counts && difference !== undefined) return;
    }
    throw new Error('the difference was not seen');
  });

  /** Two processes hear over two connections: only what one of them hears has an order. */
  function byProcess(messages: readonly LockMessage[]): LockMessage[][] {
    return [alice, bob].map((process) => messages.filter(({ ownerToken }) => ownerToken.startsWith(process)));
  }
});
