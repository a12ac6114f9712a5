import { jest } from '@jest/globals';

import { once } from 'node:events';

import { createLocks } from './create-locks.js';
import { pauseAfter } from './leader.js';

const ignore = (): void => undefined;

describe('the pause of a candidate after its term', () => {
  afterEach(() => void jest.restoreAllMocks());

  it('doubles with each term that ends early, within both bounds', () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    const pauses = [0, 1, 2, 3, 4, 5, 6, 100].map((terms) => pauseAfter(terms, [1_000, 30_000]));
    expect(pauses).toEqual([1_000, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it.each([0, 0.25, 0.75, 0.999])('varies by a fifth, and never leaves the bounds: %d', (random) => {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    expect(pauseAfter(3, [1_000, 30_000])).toBeCloseTo(4_000 * (0.8 + 0.4 * random), 5);
    for (const terms of [0, 1, 6, 50]) {
      expect(pauseAfter(terms, [1_000, 30_000])).toBeGreaterThanOrEqual(1_000);
      expect(pauseAfter(terms, [1_000, 30_000])).toBeLessThanOrEqual(30_000);
    }
  });
});

describe('a leader', () => {
  it('is not reported as a lease that is held for longer than "warnAfter"', async () => {
    const locks = await createLocks({
      connection: 'memory',
      warnAfter: '60ms',
      log: { log: ignore, warn: ignore, debug: ignore },
    });
    const reported: string[] = [];
    const control = new Promise<void>((resolve) => {
      locks.events.listen(({ name }) => {
        reported.push(name);
        if (name === 'work') resolve();
      }, 'held-long');
    });
    const leads = new Promise<void>((resolve) => {
      locks.lead('feed', async ({ signal }) => {
        resolve();
        await once(signal, 'abort');
      });
    });
    await leads;
    // Its hold begins later, so its report comes after that of the leader would.
    const lease = await locks.acquire('job', { name: 'work' });
    await control;
    expect(reported).toEqual(['work']);
    await lease.release();
    await locks.close();
  });
});
