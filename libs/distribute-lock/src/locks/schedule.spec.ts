import { CronTime } from 'cron';

import { lastTick, tickAt } from './schedule.js';

const HOUR_MS = 3_600_000;
const CHANGES = [
  ['Europe/Berlin', '2026-03-28T12:00Z'],
  ['Europe/Berlin', '2026-10-24T12:00Z'],
  ['America/New_York', '2026-03-07T12:00Z'],
  ['America/New_York', '2026-10-31T12:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T03:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T03:00Z'],
  ['Pacific/Auckland', '2026-04-04T03:00Z'],
  ['Pacific/Auckland', '2026-09-26T03:00Z'],
] as const;
/** In some zones the schedule of `cron` itself goes back when it has several instants an hour, so such expressions are not here. */
const EXPRESSIONS = ['0 0 * * * *', '0 30 2 * * *', '0 30 1 * * *', '0 0 3 * * *', '0 0 12 * * 1-5'];

describe('tickAt', () => {
  /** The instants for which `cron` sets its timers, one after the other, as on a host that is never late. */
  function instants(time: CronTime, zone: string, fromMs: number, untilMs: number): number[] {
    const found: number[] = [];
    for (let now = fromMs; ;) {
      now = time.getNextDateFrom(new Date(now), zone).toMillis();
      if (now > untilMs || found.length > 100) return found;
      found.push(now);
    }
  }

  it.each(CHANGES)('names each instant once over the change of the offset in %s after %s', (zone, from) => {
    const start = Date.parse(from);
    for (const expression of EXPRESSIONS) {
      const time = new CronTime(expression, zone);
      const all = instants(time, zone, start, start + 24 * HOUR_MS);
      expect(new Set(all).size).toBe(all.length);
      all.forEach((instant, index) => {
        const next = all[index + 1] ?? instant + 1_000;
        const latest = Math.min(next - 1, instant + 59_000);
        for (const late of [0, 3, latest - instant]) {
          const { instant: named } = tickAt(time, instant + late)!;
          expect([expression, late, named.toISOString()]).toEqual([expression, late, new Date(instant).toISOString()]);
        }
      });
    }
  });

  it('names the instants of a job that runs every second, whatever the lateness below one second', () => {
    const time = new CronTime('* * * * * *', 'UTC');
    for (const late of [0, 1, 500, 999]) {
      expect(tickAt(time, 1_800_000_000_000 + late)).toEqual({
        instant: new Date(1_800_000_000_000),
        intervalMs: 1_000,
      });
    }
  });

  it('names the newest instant after a step of the clock over millions of instants', () => {
    const time = new CronTime('* * * 1-2 6 *', 'UTC');
    expect(tickAt(time, Date.parse('2026-07-01T00:00Z'))?.instant).toEqual(new Date('2026-06-02T23:59:59Z'));
  });

  it('uses an offset instead of a time zone', () => {
    const time = new CronTime('0 30 3 * * *', null, -330);
    expect(tickAt(time, Date.parse('2026-05-05T12:00Z'))?.instant).toEqual(new Date('2026-05-05T09:00Z'));
  });

  it('names the only instant of a job that runs once', () => {
    const at = new Date('2026-05-05T12:00Z');
    expect(tickAt(new CronTime(at), at.getTime() + 5)?.instant).toEqual(at);
  });

  it('covers rare schedules: a leap day', () => {
    const time = new CronTime('0 0 0 29 2 *', 'UTC');
    expect(tickAt(time, Date.parse('2026-05-05T12:00Z'))?.instant).toEqual(new Date('2024-02-29T00:00Z'));
  });
});

describe('lastTick', () => {
  it('is undefined before the first tick of the job', () => {
    expect(lastTick({ cronTime: new CronTime('* * * * * *'), lastDate: () => null })).toBeUndefined();
  });
});
