import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { eventually } from '../support/eventually.js';
import { PREFIX } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

const TTL_MS = 1_800;
/** The answer comes when less than half of the ttl is left. */
const BEFORE_MS = 0.55 * TTL_MS;
/** Less than two thirds of the ttl. */
const PAUSE_MS = 0.6 * TTL_MS;
/** Keeps the answers away until the event loop is blocked. */
const DELAY_MS = 50;

describe('P27: a hold that begins with a late answer, and then with a blocked event loop', () => {
  const world = useLockWorld();

  it.each<[string, AcquireOptions, number, AcquireOptions]>([
    ['an exclusive lock', {}, 1, {}],
    ['a strict caller', { fair: 'strict', wait: '5s' }, 1, {}],
    ['a read lock', { kind: 'read' }, 1, { kind: 'write' }],
    ['a permit', { kind: 'semaphore', permits: 1 }, 1, { kind: 'semaphore', permits: 1 }],
    ['several keys', {}, 2, {}],
  ])('keeps the lock of its process: %s', async (_, options, count, other) => {
    const proxy = await world.proxy();
    const blocked = await world.process(proxy.url);
    proxy.delay(DELAY_MS);
    const keys = Array.from({ length: count }, () => world.newKey());
    const held = blocked.do('blockTwice', {
      keys,
      beforeMs: BEFORE_MS,
      ms: PAUSE_MS,
      ttl: TTL_MS,
      wait: 0,
      ...options,
    });
    await eventually(async () => expect(await world.client.exists(PREFIX + keys[0])).toBe(1));
    const next = world
      .locks()
      .acquire(keys[0], { wait: '20s', ...other })
      .then((lease) => ({ lease, at: monotonicMs() }));
    const hold = await held;
    expect(hold.held).toBe(true);
    const { lease, at } = await next;
    expect(at).toBeGreaterThan(hold.at);
    await lease.release();
  });
});
