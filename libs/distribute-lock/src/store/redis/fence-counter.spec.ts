import { FenceCounter } from './fence-counter.js';

describe('FenceCounter', () => {
  const asked = (counted: boolean, startedAt = 100, epoch = 1) => ({ counted, epoch, startedAt });
  const raised = (): FenceCounter => {
    const counter = new FenceCounter();
    counter.rises(asked(false), 5_000, 3, 1);
    return counter;
  };

  it('lets nobody count before the clock was looked at', () => {
    expect(new FenceCounter().mayCount(1, 0)).toBe(false);
    expect(raised().mayCount(1, 101)).toBe(true);
  });

  it('looks at the clock again after a second, counted from the sending', () => {
    expect(raised().mayCount(1, 1_099)).toBe(true);
    expect(raised().mayCount(1, 1_100)).toBe(false);
  });

  it('looks at the clock first on every connection', () => {
    const counter = raised();
    expect(counter.mayCount(2, 101)).toBe(false);
    counter.rises(asked(false, 101, 2), 6_000, 1, 3); // sent again meanwhile
    expect(counter.mayCount(2, 102)).toBe(false);
    expect(counter.mayCount(3, 102)).toBe(false);
  });

  it('uses numbers behind all that it has seen', () => {
    const counter = raised();
    expect(counter.rises(asked(true), 5_003, 2, 1)).toBe(true);
    expect(counter.rises(asked(true), 5_005, 1, 1)).toBe(true);
  });

  it.each([
    ['that the counter begins with when it was lost', 1, 1],
    ['that was issued already', 5_002, 1],
    ['that came over another connection', 5_003, 2],
  ])('uses no number %s, and nobody counts until the clock was looked at', (_, first, epochNow) => {
    const counter = raised();
    expect(counter.rises(asked(true), first, 1, epochNow)).toBe(false);
    expect(counter.mayCount(1, 101)).toBe(false);
  });

  it('lets nobody count after an error', () => {
    const counter = raised();
    counter.forget();
    expect(counter.mayCount(1, 101)).toBe(false);
    expect(counter.rises(asked(true), 5_003, 1, 1)).toBe(false);
  });
});
