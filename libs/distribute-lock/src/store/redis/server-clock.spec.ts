import { ServerClock } from './server-clock.js';

const AHEAD = 1e12;
const LIMIT_MS = 800;

describe('ServerClock', () => {
  const observed = (trips: readonly [sentAt: number, executedAt: number][]): ServerClock => {
    const clock = new ServerClock();
    for (const [sentAt, executedAt] of trips) clock.observe(AHEAD + executedAt, sentAt);
    return clock;
  };

  it('returns a past deadline for an unknown server, so that the rejection carries the clock', () => {
    expect(new ServerClock().latest(0)).toBeUndefined();
    expect(new ServerClock().deadline(0, LIMIT_MS)).toBe(1);
  });

  it('accepts every execution within the limit', () => {
    const clock = observed([[100, 130]]);

    expect(clock.deadline(5_000, LIMIT_MS)).toBeGreaterThanOrEqual(AHEAD + 5_000 + LIMIT_MS);
  });

  it('rejects an execution later than the limit, the round trip of the observation and 50 ms', () => {
    const clock = observed([[100, 130]]);

    expect(clock.deadline(5_000, LIMIT_MS)).toBeLessThanOrEqual(AHEAD + 5_000 + LIMIT_MS + 30 + 50);
  });

  it('keeps the bound of the fastest observation of the last minute', () => {
    const slowAfterQuick = observed([
      [100, 101],
      [200, 900],
    ]);
    const later = observed([
      [100, 101],
      [60_101, 60_801],
    ]);

    expect(slowAfterQuick.latest(1_000)).toBe(AHEAD + 1_001);
    expect(later.latest(70_000)).toBe(AHEAD + 70_700);
  });

  it('adopts a clock that was set forward from the rejection of a timely command', () => {
    const clock = observed([[100, 101]]);

    clock.correct(AHEAD + 3_600_200, 200);

    expect(clock.latest(200)).toBe(AHEAD + 3_600_200);
  });

  it('adopts a clock that was set back with the next observation', () => {
    const clock = observed([[100, 101]]);

    clock.observe(AHEAD - 3_600_000, 200);

    expect(clock.latest(200)).toBe(AHEAD - 3_600_000);
  });

  it('ignores values that are not numbers', () => {
    const clock = observed([[100, 101]]);

    clock.observe(NaN, 200);
    clock.correct(NaN, 200);

    expect(clock.latest(200)).toBe(AHEAD + 201);
  });

  it('ignores bounds that are older than ten minutes or of another server', () => {
    const clock = observed([[100, 101]]);

    expect(clock.latest(600_101)).toBeUndefined();
    clock.forget();
    expect(clock.latest(200)).toBeUndefined();
  });

  it('requests a new reading every twenty seconds', () => {
    const clock = new ServerClock();

    expect([0, 1, 19_999, 20_000, 20_001].map((now) => clock.refreshes(now))).toEqual([
      true,
      false,
      false,
      true,
      false,
    ]);
  });
});
