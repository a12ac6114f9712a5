import { runProgram } from './program.js';

/** A row of `distribute-lock doctor --json`. */
export interface DoctorRow {
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly finding: string;
  readonly fix?: string;
}

/** The report of `distribute-lock doctor --json`. */
export class DoctorReport {
  constructor(
    readonly code: number | null,
    readonly rows: readonly DoctorRow[],
    /** All output of the program. */
    readonly output: string,
  ) {}

  row(check: string): DoctorRow {
    const found = this.rows.find((row) => row.check === check);
    if (found === undefined) throw new Error(`The doctor has no row "${check}": ${this.output}`);
    return found;
  }

  /** The names of the rows with this result, without the row that also measures the machine of the test. */
  names(result: DoctorRow['result']): string[] {
    const rows = this.rows.filter((row) => row.check !== 'latency' && row.result === result);
    return rows.map(({ check }) => check);
  }
}

/** Runs the doctor. */
export async function doctor(url: string, ...flags: readonly string[]): Promise<DoctorReport> {
  const { code, stdout, stderr } = await runProgram(['doctor', '--json', '--url', url, ...flags]);
  if (stdout === '') throw new Error(`The doctor printed no report (exit code ${code}): ${stderr}`);
  const { rows } = JSON.parse(stdout) as { rows: DoctorRow[] };
  return new DoctorReport(code, rows, stdout + stderr);
}
