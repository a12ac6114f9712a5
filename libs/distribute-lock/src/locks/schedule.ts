/** A point in time of a scheduler, as luxon's `DateTime` provides it. @public */
export interface ScheduleInstant {
  toMillis(): number;
}

/** The schedule of a job: `CronTime` of the package `cron`. @public */
export interface Schedule {
  /** The expression, or the one instant of the job. */
  readonly source: unknown;
  /** Whether the job runs only once, at `source`. */
  readonly realDate?: boolean;
  readonly timeZone?: string | undefined;
  /** Minutes. */
  readonly utcOffset?: number | undefined;
  /** The first instant after `start`. */
  getNextDateFrom(start: Date, timeZone?: string): ScheduleInstant;
}

/** A job of a scheduler: `CronJob` of the package `cron`. @public */
export interface ScheduledJob {
  readonly cronTime: Schedule;
  /** When the timer of the job fired for the last time. */
  lastDate(): Date | null;
}

/** One scheduled instant of a job. @public */
export interface Tick {
  readonly instant: Date;
  /** Milliseconds until the next instant of the schedule. */
  readonly intervalMs: number;
}

export const DAY_MS = 86_400_000;
/** How far before its end the search begins: most timers fire at once, and few schedules have a longer interval than the last value. */
const SEARCH_FROM_MS = [2_000, 90_000, 3_700_000, 90_000_000, 32 * DAY_MS, 370 * DAY_MS, 3_000 * DAY_MS];

/**
 * The tick for which the timer of a job fired: the latest instant of its schedule that is not after `job.lastDate()`. All hosts name the
 * same tick, also with different clocks, as long as a timer is late by less than one interval. `undefined` before the first tick.
 *
 * @example
 * ```ts
 * const job = CronJob.from({
 *   cronTime: '0 3 * * *',
 *   timeZone: 'Europe/Berlin',
 *   onTick: () => locks.onceAt('nightly-report', lastTick(job)!, () => reports.send()),
 * });
 * ```
 * @public
 */
export function lastTick(job: ScheduledJob): Tick | undefined {
  const fired = job.lastDate();
  return fired === null ? undefined : tickAt(job.cronTime, fired.getTime());
}

/** The latest instant of the schedule that is not after `atMs`. */
export function tickAt(schedule: Schedule, atMs: number): Tick | undefined {
  if (schedule.realDate === true) {
    return { instant: new Date(Number(schedule.source)), intervalMs: DAY_MS };
  }
  const zone = zoneOf(schedule);
  const nextMs = (fromMs: number): number => schedule.getNextDateFrom(new Date(fromMs), zone).toMillis();
  for (const backMs of SEARCH_FROM_MS) {
    const first = nextMs(atMs - backMs);
    if (first > atMs) continue;
    const last = lastBetween(nextMs, first, atMs);
    // A schedule with a time that summer time skips may go back.
    return { instant: new Date(last), intervalMs: Math.max(0, nextMs(last) - last) };
  }
  return undefined;
}

/** Halves the range, because after a step of the clock it may contain millions of instants. */
function lastBetween(nextMs: (fromMs: number) => number, first: number, end: number): number {
  for (let found = first, until = end; ;) {
    const next = nextMs(found);
    if (next > until || next <= found) return found;
    const middle = Math.floor((next + until) / 2);
    const later = nextMs(middle);
    if (later > middle && later <= until) found = later;
    else {
      found = next;
      until = middle;
    }
  }
}

function zoneOf({ timeZone, utcOffset }: Schedule): string | undefined {
  if (utcOffset === undefined || utcOffset === null) return timeZone;
  const minutes = Math.abs(utcOffset);
  const twoDigits = (value: number): string => String(value).padStart(2, '0');
  return `UTC${utcOffset < 0 ? '-' : '+'}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
}
