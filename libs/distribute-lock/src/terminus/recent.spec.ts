import { jest } from '@jest/globals';

import { Recent } from './recent.js';

describe('Recent', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('counts the numbers of the last minute and knows the largest', () => {
    const recent = new Recent();
    expect([recent.count, recent.max]).toEqual([0, 0]);
    recent.add(7);
    jest.advanceTimersByTime(30_000);
    recent.add(3);
    recent.add(5);
    expect([recent.count, recent.max]).toEqual([3, 7]);
    jest.advanceTimersByTime(29_000);
    expect([recent.count, recent.max]).toEqual([3, 7]);
    jest.advanceTimersByTime(3_000);
    expect([recent.count, recent.max]).toEqual([2, 5]);
    jest.advanceTimersByTime(30_000);
    expect([recent.count, recent.max]).toEqual([0, 0]);
  });

  it('counts any quantity of numbers, and keeps none of them', () => {
    const recent = new Recent();
    for (let i = 0; i < 100_000; i += 1) {
      recent.add(i);
      if (i % 500 === 0) jest.advanceTimersByTime(100);
    }
    expect([recent.count, recent.max]).toEqual([100_000, 99_999]);
    expect(JSON.stringify(recent).length).toBeLessThan(5_000);
  });
});
