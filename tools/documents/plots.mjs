/**
 * The plots of the documents, drawn from the tables of two pages: docs/benchmarks.md, which `npm run bench` writes, and
 * docs/internals/faults.md.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OURS } from '../../bench/adapters/index.mjs';
import { shown } from '../../bench/measuring/goals.mjs';
import { barChart } from './svg-bars.mjs';

const PAGE = 'docs/benchmarks.md';
const FAULTS = 'docs/internals/faults.md';
const FOLDER = 'docs/plots';

const CONTENDED = 'One key, 4 processes with 25 looping callers each, GET and SET of a counter under the lock';
const PARKED = '1000 waiters behind one holder';

/** `from` names the section and the column of each series; `where` selects rows by the second column. */
const PLOTS = [
  {
    name: 'contended',
    title: 'Throughput of one key, 100 callers in 4 processes',
    unit: 'holds per second; more is better',
    from: [[CONTENDED, 'holds/s']],
  },
  {
    name: 'fairness',
    title: 'Fairness among these 100 callers',
    unit: "Jain's index; 1 is best",
    from: [[CONTENDED, 'Jain, callers']],
  },
  {
    name: 'hand-overs',
    title: 'Hand-overs of one key in one process, by the number of waiters',
    unit: 'hand-overs per second; more is better',
    series: ['100 waiters', '1000 waiters'],
    from: [
      ['One key, 100 waiters in one process, each once', 'hand-offs/s'],
      ['One key, 1000 waiters in one process, each once', 'hand-offs/s'],
    ],
    log: true,
  },
  {
    name: 'hand-over-time',
    title: 'Hand-over to another process',
    unit: 'microseconds from release to grant, median; less is better',
    from: [['Hand-off to another process, both idle otherwise', 'p50 us']],
    log: true,
  },
  {
    name: 'waiting-commands',
    title: 'Commands of 1000 waiters behind a holder in another process',
    unit: 'commands per second; less is better',
    from: [[PARKED, 'commands/s']],
    where: 'another',
    log: true,
  },
  {
    name: 'waiting-cpu',
    title: 'CPU of these 1000 waiters',
    unit: 'percent of a core; less is better',
    from: [[PARKED, 'client CPU %']],
    where: 'another',
  },
  {
    name: 'uncontended-cpu',
    title: 'CPU of the client per uncontended lock, 128 at a time',
    unit: 'microseconds per acquire and release; less is better',
    from: [['Uncontended cycle, 128 at a time', 'client CPU us/cycle']],
  },
];

/** Rows of the first table of faults. */
const RECOVERY = [
  'holder killed',
  'message lost',
  'subscription killed with the release',
  'reply to an acquire lost',
  'restart with data',
  'key deleted by hand',
  'FLUSHALL',
];
const TOPOLOGIES = ['one primary', 'Sentinel', 'Cluster', 'quorum'];

/** The Markdown that shows all plots of the benchmark. */
export const pictures = PLOTS.map(({ name, title }) => `![${title}](plots/${name}.svg)`).join('\n\n');

/** The texts of all plots by their path. */
export function plots(root) {
  if (!existsSync(join(root, PAGE))) return new Map();
  const results = resultsIn(readFileSync(join(root, PAGE), 'utf8'));
  return new Map([
    ...PLOTS.map((plot) => [`${FOLDER}/${plot.name}.svg`, drawn(plot, results)]),
    [`${FOLDER}/recovery.svg`, recovery(readFileSync(join(root, FAULTS), 'utf8'))],
  ]);
}

/** Writes the plots that differ; returns their paths. */
export function writePlots(root) {
  const outdated = outdatedPlots(root);
  for (const [path, text] of outdated) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return outdated.map(([path]) => path);
}

/** The messages for plots that differ from the figures of their page. */
export function plotFaults(root) {
  return outdatedPlots(root).map(([path]) => `${path} differs from the figures of its page: run \`npm run docs\``);
}

function outdatedPlots(root) {
  return [...plots(root)].filter(
    ([path, text]) => !existsSync(join(root, path)) || readFileSync(join(root, path), 'utf8') !== text,
  );
}

function drawn({ title, unit, series, from, where, log }, results) {
  const columns = from.map(([section, column]) => columnOf(results, section, column, where));
  const names = [...columns[0].keys()];
  const rows = names.map((name) => ({ name, values: columns.map((column) => column.get(name)), ours: name === OURS }));
  return barChart({ title, unit, series, rows, log }, shown);
}

/** How long faults last on each topology, from the page of faults. */
function recovery(page) {
  const [{ columns, rows: faults }] = resultsIn(page).flatMap(({ tables }) => tables);
  const rows = RECOVERY.map((name) => {
    const fault = faults.find(([first]) => first === name);
    if (fault === undefined) throw new Error(`${FAULTS} has no row "${name}"`);
    return { name, values: TOPOLOGIES.map((topology) => milliseconds(fault[columns.indexOf(topology)])) };
  });
  const title = 'From a fault until the holder is notified, or the next caller is served';
  return barChart({ title, unit: 'milliseconds, the worst of three runs', series: TOPOLOGIES, rows }, shown);
}

/** `1.3 s` is 1300. */
function milliseconds(cell) {
  const [, value, unit] = /^([\d.]+) (ms|s)$/.exec(cell) ?? [];
  if (value === undefined) throw new Error(`${FAULTS}: "${cell}" is no time`);
  return unit === 's' ? Number(value) * 1_000 : Number(value);
}

/** The values of a column by the names of the rows. */
function columnOf(results, section, column, where) {
  const [table] = results.find(({ title }) => title === section)?.tables ?? [];
  const at = table?.columns.indexOf(column) ?? -1;
  if (at < 0) throw new Error(`the benchmark has no column "${column}" in "${section}"`);
  const rows = where === undefined ? table.rows : table.rows.filter((row) => row[1] === where);
  return new Map(rows.map((row) => [row[0], row[at]]));
}

/** The sections of a page with their tables: `[{ title, tables: [{ columns, rows }] }]`. */
export function resultsIn(page) {
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const tables = section.match(/(?:^\|.*\n)+/gm) ?? [];
      return { title: section.slice(0, section.indexOf('\n')), tables: tables.map(tableIn) };
    });
}

function tableIn(text) {
  const [columns, , ...rows] = text.trim().split('\n').map(cellsOf);
  return { columns, rows: rows.map((row) => row.map(valueOf)) };
}

const cellsOf = (line) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** `4 530` is a number. */
const valueOf = (cell) => (/^\d[\d ]*(?:\.\d+)?$/.test(cell) ? Number(cell.replaceAll(' ', '')) : cell);
