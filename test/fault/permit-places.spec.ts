import { setTimeout as sleep } from 'node:timers/promises';

import { newProcessId } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

const PERMITS = 5;
const permits = { kind: 'semaphore', permits: PERMITS, wait: '60s' } as const;

describe('Callers of one process that wait for permits', () => {
  const world = useLockWorld();
  const places = (key: string): Promise<number> => world.client.zcard(`sq1:{${PREFIX}${key}}`);

  async function scripts(): Promise<number> {
    const stats = await world.client.info('commandstats');
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  }

  /** Other processes hold every permit. */
  async function taken() {
    const key = world.newKey();
    const holder = world.locks();
    const held = await Promise.all(
      Array.from({ length: PERMITS }, () => holder.acquire(key, { ...permits, ttl: '60s' })),
    );
    return { key, release: () => Promise.all(held.map((lease) => lease.release())) };
  }

  it('have as many places as can be served, and one more, and send one heartbeat', async () => {
    const { key, release } = await taken();
    const waiter = await world.process();
    const crowd = waiter.do('crowd', { key, ...permits, callers: 900, abort: 'all' });
    await eventually(async () => expect(await places(key)).toBe(PERMITS + 1));
    const before = await scripts();
    const forS = 4;
    await sleep(forS * 1_000);
    expectBelow((await scripts()) - before, forS + 1);
    expect(await places(key)).toBe(PERMITS + 1);
    await waiter.do('abort', { abort: 'all' });
    expect((await crowd).codes).toEqual({ LOCK_ABORTED: 900 });
    await release();
    await eventually(async () => expect(await world.keysOf(key)).toEqual([]));
  });

  it('keep all their places with one of them', async () => {
    const { store } = world.locks();
    const key = world.newKey();
    const [holder, waiter, other] = Array.from({ length: 3 }, newProcessId);
    const acquire = (process: string, sequence: number, weight: number) =>
      store.acquire({
        ...{ key, kind: 'semaphore', ownerToken: `${process}:${sequence}P3:${weight}` },
        ...{ ttlMs: 20_000, wait: true, block: 1 },
      });
    /** Every process has been silent for longer than a claim window. */
    const silence = async (): Promise<void> => {
      const name = `sa1:{${PREFIX}${key}}`;
      for (const member of await world.client.zrange(name, '0', '-1')) await world.client.zadd(name, 'XX', 1, member);
    };
    await acquire(holder, 1, 1);
    for (const sequence of [1, 2]) await acquire(waiter, sequence, 3);
    await silence();
    await acquire(waiter, 1, 3);
    await store.release({ key, kind: 'semaphore', ownerToken: `${waiter}:1P3:3` });
    // The second place of the waiter is the head, and does not fit.
    expect(await acquire(other, 1, 1)).toMatchObject({ outcome: 'queued' });
    await silence();
    expect(await acquire(other, 1, 1)).toMatchObject({ outcome: 'granted' });
  });
});
