import { judged, shown } from './goals.mjs';

const GOAL_COLUMNS = ['figure', 'measured', 'must', '', 'aim', ''];

/** The result of one workload as Markdown, which reads as a plain table too. */
export function section({ title, note, tables, goals, faults }) {
  return [
    `## ${title}`,
    ...(note === undefined ? [] : [note]),
    ...tables.map(({ columns, rows }) => table(columns, rows)),
    ...(goals.length === 0 ? [] : [table(GOAL_COLUMNS, goals.map(judged))]),
    ...(faults ?? []).map((fault) => `**FAULT: ${fault}**`),
  ].join('\n\n');
}

/** Columns of equal width; numbers to the right. */
export function table(columns, rows) {
  const cells = rows.map((row) => row.map(shown));
  const widths = columns.map((name, i) => Math.max(3, name.length, ...cells.map((row) => row[i].length)));
  const numeric = columns.map((_, i) => rows.some((row) => typeof row[i] === 'number'));
  const line = (row) =>
    `| ${row.map((cell, i) => (numeric[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join(' | ')} |`;
  const rule = `| ${widths.map((width, i) => (numeric[i] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width))).join(' | ')} |`;
  return [line(columns), rule, ...cells.map(line)].join('\n');
}
