import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import type { AcquireOptions } from '../options/lock-options.js';

const TTL = 6_000;
/** Less than two thirds of the ttl. */
const PAUSE_MS = 3_900;

describe('A hold', () => {
  const start = () => {
    const clock = new ManualClock();
    return { clock, here: new ManualWorld(clock).process() };
  };

  it.each<[string, AcquireOptions, (next: AcquireOptions) => AcquireOptions]>([
    ['a reader', { kind: 'read' }, (next) => next],
    ['a local hand-over', {}, (next) => ({ ...next, wait: '1m' })],
    ['a local hand-over of a write lock', { kind: 'write' }, (next) => ({ ...next, wait: '1m' })],
    ['a local hand-over of a permit', { kind: 'semaphore', permits: 1 }, (next) => ({ ...next, wait: '1m' })],
  ])('survives a pause of less than two thirds of its ttl at every moment: %s', async (_, kind, waiting) => {
    for (let afterMs = 100; afterMs < TTL; afterMs += 290) {
      const { clock, here } = start();
      const first = await here.acquire('k', { ttl: TTL, ...kind });
      await clock.pass(afterMs);
      const second = here.acquire('k', waiting({ ttl: TTL, ...kind }));
      await clock.pass(1);
      await first.release();
      await clock.pass(1);
      const lease = await second;
      for (let heldMs = 0; heldMs < TTL / 2; heldMs += 500) {
        expect(lease.remainingMs()).toBeGreaterThanOrEqual(PAUSE_MS);
        await clock.pass(500);
      }
      clock.jump(PAUSE_MS);
      await clock.pass(1);
      expect(lease.isHeld()).toBe(true);
      await here.engine.close();
    }
  });
});
