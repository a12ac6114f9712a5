import { FenceCounter } from './fence-counter.js';

describe('FenceCounter', () => {
  const request = (counted: boolean, startedAt = 100, epoch = 1) => ({ counted, epoch, startedAt });
  const raised = (): FenceCounter => {
    const counter = new FenceCounter();
    counter.rises(request(false), 5_000, 3, 1);
    return counter;
  };

  it('forbids counting until the script has read the clock', () => {
    expect(new FenceCounter().mayCount(1, 0)).toBe(false);
    expect(raised().mayCount(1, 101)).toBe(true);
  });

  it('requires the clock again one second after the command was sent', () => {
    expect(raised().mayCount(1, 1_099)).toBe(true);
    expect(raised().mayCount(1, 1_100)).toBe(false);
  });

  it('requires the clock on every new connection', () => {
    const counter = raised();
    expect(counter.mayCount(2, 101)).toBe(false);
    counter.rises(request(false, 101, 2), 6_000, 1, 3); // resent on another connection
    expect(counter.mayCount(2, 102)).toBe(false);
    expect(counter.mayCount(3, 102)).toBe(false);
  });

  it('accepts numbers that are larger than all previous ones', () => {
    const counter = raised();
    expect(counter.rises(request(true), 5_003, 2, 1)).toBe(true);
    expect(counter.rises(request(true), 5_005, 1, 1)).toBe(true);
  });

  it.each([
    ['of a counter that was lost', 1, 1],
    ['that was already issued', 5_002, 1],
    ['from another connection', 5_003, 2],
  ])('rejects a number %s, and forbids counting until the script has read the clock', (_, first, epochNow) => {
    const counter = raised();
    expect(counter.rises(request(true), first, 1, epochNow)).toBe(false);
    expect(counter.mayCount(1, 101)).toBe(false);
  });

  it('forbids counting after an error', () => {
    const counter = raised();
    counter.forget();
    expect(counter.mayCount(1, 101)).toBe(false);
    expect(counter.rises(request(true), 5_003, 1, 1)).toBe(false);
  });
});
