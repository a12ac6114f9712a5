import { type RetryAfter, retryAfterMs } from './retry-after.js';

const info = { name: 'work', key: 'k', kind: 'exclusive', remainingMs: 20_000, estimateMs: 750 } as const;
const broken = (): never => {
  throw new Error('broken');
};

describe('Option "retryAfter"', () => {
  it.each<[RetryAfter, number]>([
    [4_000, 4_000],
    ['7s', 7_000],
    [() => '2s', 2_000],
    [({ estimateMs }) => 2 * estimateMs, 1_500],
  ])('replaces the estimate: %s', (retryAfter, expected) => {
    expect(retryAfterMs(retryAfter, info)).toBe(expected);
  });

  it.each<[unknown]>([
    [broken],
    [() => 0],
    [() => -1],
    [() => NaN],
    [() => Infinity],
    [() => 0.5],
    [() => 'soon'],
    [() => null],
  ])('is ignored if the function throws or returns no duration: %s', (retryAfter) => {
    expect(retryAfterMs(retryAfter as RetryAfter, info)).toBe(750);
  });

  it('is ignored if the function returns a promise, also one that rejects', async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): number => unhandled.push(reason);
    process.on('unhandledRejection', listener);
    const rejected = async (): Promise<number> => broken();
    expect(retryAfterMs(rejected as never, info)).toBe(750);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listener);
    expect(unhandled).toEqual([]);
  });
});
