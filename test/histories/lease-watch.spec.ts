import type { Lease } from '../../libs/distribute-lock/src/engine/lease/lease.js';
import { monotonicMs } from '../support/monotonic.js';
import { sampled } from './run/lease-watch.js';

const STANDSTILL_MS = 30;
const EXACT_MS = 5;

describe('sampled', () => {
  it('reads the end of a lease again when the process was stopped between its two readings', () => {
    const end = monotonicMs() + 10_000;
    let stands = true;
    const remainingMs = (): number => {
      const since = monotonicMs();
      while (stands && monotonicMs() - since < STANDSTILL_MS);
      stands = false;
      return end - monotonicMs();
    };
    const { at, remaining } = sampled({ remainingMs } as Lease);
    expect(stands).toBe(false);
    expect(Math.abs(at + remaining - end)).toBeLessThan(EXACT_MS);
  });
});
