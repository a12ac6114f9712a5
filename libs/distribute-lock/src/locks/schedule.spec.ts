import { CronTime } from 'cron';

import { createLocks } from './create-locks.js';
import { lastTick, tickAt } from './schedule.js';

const HOUR_MS = 3_600_000;
/** When the offset of a zone changes. */
const CHANGES = [
  ['Europe/Berlin', '2026-03-29T01:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00Z'],
  ['America/New_York', '2026-03-08T07:00Z'],
  ['America/New_York', '2026-11-01T06:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
  ['Pacific/Auckland', '2026-04-04T14:00Z'],
  ['Pacific/Auckland', '2026-09-26T14:00Z'],
] as const;
const EXPRESSIONS = [
  ...['0 0 * * * *', '0 30 2 * * *', '0 30 1 * * *', '0 0 3 * * *'],
  ...['0 */15 * * * *', '0 5,20,50 * * * *'],
];
/** The clocks of three hosts. */
const SHIFTS_MS = [0, 5_300, -3_200];

let nowMs: number;
/** `cron` reads the clock, too: the offset of this moment decides which of two equal local times it means. */
const setClock = (ms: number): void => {
  nowMs = ms;
  import.meta.jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
};
afterEach(() => void import.meta.jest.restoreAllMocks());

describe('tickAt', () => {
  /** The instants for which `cron` sets its timers, one after the other, as on a host that is never late. */
  function instants(time: CronTime, zone: string, fromMs: number, untilMs: number): number[] {
    const found: number[] = [];
    for (let now = fromMs; ;) {
      setClock(now);
      now = time.getNextDateFrom(new Date(now), zone).toMillis();
      if (now > untilMs) return found;
      found.push(now);
    }
  }

  it.each(CHANGES)('names each instant once over the change of the offset in %s at %s', (zone, from) => {
    const change = Date.parse(from);
    for (const expression of EXPRESSIONS) {
      const time = new CronTime(expression, zone);
      const all = instants(time, zone, change - 4 * HOUR_MS, change + 4 * HOUR_MS);
      expect([expression, ...all]).toEqual([expression, ...[...new Set(all)].toSorted((a, b) => a - b)]);
      all.forEach((instant, index) => {
        const next = all[index + 1] ?? instant + 1_000;
        const latest = Math.min(next - 1, instant + 59_000);
        for (const late of [0, 3, latest - instant]) {
          setClock(instant + late);
          const { instant: named } = tickAt(time, instant + late)!;
          expect([expression, late, named.toISOString()]).toEqual([expression, late, new Date(instant).toISOString()]);
        }
      });
    }
  });

  it.each(CHANGES)('lets three hosts run each tick once over the change in %s at %s', async (zone, from) => {
    const change = Date.parse(from);
    const locks = await createLocks({ connection: 'memory' });
    for (const expression of EXPRESSIONS) {
      const time = new CronTime(expression, zone);
      const all = instants(time, zone, change - 4 * HOUR_MS, change + 4 * HOUR_MS);
      // The timer of each host fires at each instant of the clock of that host, late by up to 40 s.
      const fires = SHIFTS_MS.flatMap((shift, host) =>
        all.map((instant, i) => {
          const late = ((i * 7 + host * 13) % 41) * 1_000;
          return { shown: instant + late, real: instant + late - shift };
        }),
      ).toSorted((a, b) => a.real - b.real);
      const ran: number[] = [];
      for (const { shown } of fires) {
        setClock(shown);
        const tick = tickAt(time, shown)!;
        await locks.onceAt(`${zone} ${expression}`, tick, async () => void ran.push(tick.instant.getTime()));
      }
      expect([expression, ...ran.toSorted((a, b) => a - b)]).toEqual([expression, ...all]);
    }
    await locks.close();
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
