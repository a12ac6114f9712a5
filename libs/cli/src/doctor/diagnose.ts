import { Layout, type LockLayout } from '../../../distribute-lock/src/store/redis/layout.js';
import type { Place } from '../connection-url.js';
import { type Check, type Examination, settled } from './check.js';
import { CHECKS } from './checks.js';
import { ClockWatch } from './clock-watch.js';
import { type Finding, skipped } from './finding.js';
import { LockSession } from './lock-session.js';
import { openTarget } from './target.js';

/** What the application that uses the locks has set. */
export interface DoctorOptions {
  readonly prefix: string;
  readonly layout: LockLayout;
}

/** A row of the report. */
export interface Row extends Finding {
  readonly check: string;
}

/**
 * Runs all checks, one after the other, and reports each row.
 * @throws UnreachableError when no server can be checked
 */
export async function diagnose(
  place: Place,
  options: DoctorOptions,
  report: (row: Row) => void,
): Promise<readonly Row[]> {
  const target = await openTarget(place, options.prefix);
  const layout = new Layout(options.layout, target.client, target.keys, target.topology === 'Cluster');
  const locks = new LockSession(target, options.layout);
  const clocks = new ClockWatch();
  const rows: Row[] = [];
  try {
    await clocks.start(target.servers);
    await layout.find();
    for (const [check, { needs = [], run }] of Object.entries<Check>(CHECKS)) {
      const broken = needs.find((name) => rows.some((row) => row.check === name && row.result === 'failed'));
      const row = { check, ...(await finding(run, { target, layout, locks, clocks }, broken)) };
      rows.push(row);
      report(row);
    }
    return rows;
  } finally {
    await locks.close();
    target.close();
  }
}

function finding(run: Check['run'], examination: Examination, broken: string | undefined): Promise<Finding> | Finding {
  if (broken !== undefined) return skipped(`Not checked, because the row "${broken}" failed.`);
  return settled(() => run(examination));
}
