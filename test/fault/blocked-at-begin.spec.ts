import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { eventually } from '../support/eventually.js';
import { monotonicMs } from '../support/monotonic.js';
import { PREFIX } from './support/lock-engine.js';
import { useLockWorld } from './support/use-lock-world.js';

/** Longer than the claim window of an offer, and much shorter than two thirds of the ttl. */
const BLOCK_MS = 2_500;
const HALF_A_MINUTE = { ttl: '30s', wait: '20s' } as const;

describe('P27: a holder whose event loop is blocked from the first moment of its hold', () => {
  const world = useLockWorld();

  it.each<[string, AcquireOptions, (key: string) => string]>([
    ['an exclusive lock', {}, (key) => world.queueOf(key)],
    ['a strict caller', { fair: 'strict' }, (key) => world.queueOf(key)],
    ['a write lock', { kind: 'write' }, (key) => world.queueOf(key)],
    ['a permit', { kind: 'semaphore', permits: 1 }, (key) => `sq1:{${PREFIX}${key}}`],
  ])('keeps %s while another process waits', async (_, options, queueOf) => {
    const [holder, other] = [world.locks(), world.locks()];
    const blocked = await world.process();
    const key = world.newKey();
    const first = await holder.acquire(key, { ...HALF_A_MINUTE, ...options });
    const waits = async (count: number) => {
      await eventually(async () => expect(await world.client.zcard(queueOf(key))).toBe(count));
    };
    const held = blocked.do('blockAtBegin', { key, ms: BLOCK_MS, ...HALF_A_MINUTE, ...options });
    await waits(1);
    const next = other.acquire(key, { ...HALF_A_MINUTE, ...options }).then((lease) => ({ lease, at: monotonicMs() }));
    await waits(2);
    await first.release();
    const { lease, at } = await next;
    const hold = await held;
    expect(hold.held).toBe(true);
    expect(at).toBeGreaterThan(hold.at);
    await lease.release();
  });
});
