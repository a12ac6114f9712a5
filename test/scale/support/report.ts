/** A figure that a run must reach. */
export interface Bound {
  readonly figure: string;
  readonly value: number;
  readonly atMost?: number;
  readonly exactly?: number;
}

/** The result of one part. */
export interface Section {
  readonly title: string;
  readonly note?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  readonly bounds: readonly Bound[];
}

export const isReached = ({ value, atMost = Infinity, exactly = value }: Bound): boolean =>
  value <= atMost && value === exactly;

/** Renders the section as Markdown. */
export function render({ title, note, columns, rows, bounds }: Section): string {
  const checked = bounds.map((bound) => [
    bound.figure,
    bound.value,
    limitOf(bound),
    isReached(bound) ? 'yes' : '**NO**',
  ]);
  const parts = [`## ${title}`, ...(note === undefined ? [] : [note]), table(columns, rows)];
  if (checked.length > 0) parts.push(table(['figure', 'measured', 'bound', 'reached'], checked));
  return parts.join('\n\n');
}

const limitOf = ({ atMost, exactly }: Bound): string => (exactly === undefined ? `<= ${atMost}` : String(exactly));

function table(columns: readonly string[], rows: Section['rows']): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = columns.map((_, i) => (rows.some((row) => typeof row[i] === 'number') ? '--:' : '---'));
  return [line(columns), line(rule), ...rows.map((row) => line(row.map(shown)))].join('\n');
}

/** Three digits; whole numbers from 1,000 on. */
function shown(value: string | number): string {
  if (typeof value === 'string') return value;
  if (Math.abs(value) >= 1_000)
    return Math.round(value)
      .toString()
      .replaceAll(/\B(?=(\d{3})+$)/g, ' ');
  return String(Number(value.toPrecision(3)));
}
