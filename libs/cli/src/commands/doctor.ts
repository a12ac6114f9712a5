import { placeOf } from '../connection-url.js';
import { DEFAULT_PREFIX, urlOf } from '../connection.js';
import { diagnose, type Row } from '../doctor/diagnose.js';
import type { Result } from '../doctor/finding.js';
import { UnreachableError } from '../doctor/target.js';
import { EXIT_CODES } from '../table.js';
import type { Execute } from './command.js';

/** Checks the servers, and says for each row what to change. */
export const doctor: Execute<'doctor'> = async ({ values }, messages) => {
  const { prefix = DEFAULT_PREFIX, layout = 'auto', quiet = false, json = false } = values;
  const place = placeOf(urlOf(values));
  const show = (row: Row): void => {
    if (!json && (!quiet || row.result === 'failed')) messages.result(textOf(row), row);
  };
  try {
    const rows = await diagnose(place, { prefix, layout: layout as 'auto' | 'slot' | 'single' }, show);
    const counts = countsOf(rows);
    const healthy = counts.failed === 0;
    if (json) messages.result('', { healthy, counts, rows });
    else messages.say('info', summaryOf(rows.length, counts));
    return healthy ? EXIT_CODES.success.code : EXIT_CODES.failure.code;
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    messages.say('error', error.message);
    return EXIT_CODES.unavailable.code;
  }
};

const LABEL_WIDTH = 'skipped'.length;
const NAME_WIDTH = 'sharded channels'.length;

function textOf({ result, check, finding, fix }: Row): string {
  const head = `${result.padEnd(LABEL_WIDTH)}  ${check.padEnd(NAME_WIDTH)}  `;
  return fix === undefined ? head + finding : `${head}${finding}\n${' '.repeat(head.length)}Fix: ${fix}`;
}

type Counts = Readonly<Record<Result, number>>;

function countsOf(rows: readonly Row[]): Counts {
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  for (const { result } of rows) counts[result] += 1;
  return counts;
}

const summaryOf = (all: number, { ok, warning, failed, skipped }: Counts): string =>
  `${all} checks: ${ok} ok, ${warning} warnings, ${failed} failed, ${skipped} skipped.`;
