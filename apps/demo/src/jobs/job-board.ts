/** A tick of the job, and the instance that ran it. */
export interface RunTick {
  readonly at: string;
  readonly instance: string;
}

/** What the jobs of all instances did. */
export interface JobBoard {
  /** The instance that leads; `null` while none does. */
  readonly leader: string | null;
  /** The latest ticks, the newest first. */
  readonly ticks: readonly RunTick[];
}

/** What one instance reports about its jobs. */
export type JobReport =
  { readonly type: 'leads' | 'leads-no-more'; readonly instance: string } | ({ readonly type: 'tick' } & RunTick);

const SHOWN_TICKS = 8;

export const EMPTY_BOARD: JobBoard = { leader: null, ticks: [] };

/** The board after the report. */
export function withReport({ leader, ticks }: JobBoard, report: JobReport): JobBoard {
  const { instance } = report;
  if (report.type === 'tick') return { leader, ticks: [{ at: report.at, instance }, ...ticks].slice(0, SHOWN_TICKS) };
  if (report.type === 'leads') return { leader: instance, ticks };
  // The report of an earlier leader may arrive after that of the next one.
  return { leader: leader === instance ? null : leader, ticks };
}
