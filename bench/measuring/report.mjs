import { OURS } from '../adapters/index.mjs';
import { GOAL_COLUMNS, goalRow, shown } from './goals.mjs';

/** The result of one workload as Markdown, which is also readable as plain text. */
export function section({ title, workload, note, tables, goals, faults = [] }) {
  return [
    `## ${title}`,
    `\`npm run bench -- --only ${workload}\``,
    ...(note === undefined ? [] : [note]),
    ...tables.map(({ columns, rows }) => table(columns, rows)),
    table(GOAL_COLUMNS, goals.map(goalRow)),
    ...faults.map((fault) => `**FAULT: ${fault}**`),
  ].join('\n\n');
}

/** The figures where the library is not ahead: missed goals, and columns in which another subject is better. */
export function behind(results) {
  const missed = results.flatMap(({ title, goals }) =>
    goals.filter(({ reached }) => !reached).map((missing) => [title].concat(goalRow(missing).slice(0, 4))),
  );
  const better = results.flatMap(({ title, tables }) =>
    tables.flatMap((one) => one.better.flatMap((sign, column) => aheadOfUs(title, one, sign, column))),
  );
  return [
    missed.length === 0
      ? 'Every figure that must be reached is.'
      : table(['not reached', ...GOAL_COLUMNS.slice(0, 4)], missed),
    ...(better.length === 0 ? [] : [table(['workload', 'figure', 'ours', 'better'], better)]),
  ].join('\n\n');
}

/** @param sign - 1 when more is better, -1 when less is, 0 when the column has no order */
function aheadOfUs(title, { columns, rows }, sign, column) {
  if (sign === 0) return [];
  return rows
    .filter(([subject]) => subject === OURS)
    .flatMap((ours) => {
      const same = rows.filter((row) => row[0] !== OURS && (typeof row[1] === 'number' || row[1] === ours[1]));
      const better = same.filter((row) => sign * (row[column] - ours[column]) > 0.01 * Math.abs(ours[column]));
      if (better.length === 0) return [];
      const names = better.map((row) => `${row[0]} ${shown(row[column])}`).join(', ');
      return [[title, columns[column], shown(ours[column]), names]];
    });
}

/** Columns of equal width; numbers are aligned to the right. */
export function table(columns, rows) {
  const cells = rows.map((row) => row.map(shown));
  const widths = columns.map((name, i) => Math.max(3, name.length, ...cells.map((row) => row[i].length)));
  const numeric = columns.map((_, i) => rows.some((row) => typeof row[i] === 'number'));
  const pad = (cell, i) => (numeric[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i]));
  const line = (row) => `| ${row.map(pad).join(' | ')} |`;
  const rule = widths.map((width, i) => (numeric[i] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return [line(columns), `| ${rule.join(' | ')} |`, ...cells.map(line)].join('\n');
}
