#!/usr/bin/env node
/**
 * Removes one measure after the other from a copy of the library, and checks that the test of the measure fails then.
 * A promise whose test passes without its measure is not tested.
 *   usage: without-measures.mjs [P6 quorum 'words of a measure' ...]
 *          without-measures.mjs --part 10     a tenth of the measures, another one in each run; --part 3/10: the third tenth
 *          without-measures.mjs --check     only checks that each measure occurs exactly once in its file, which compiles without it
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

import ts from 'typescript';

import { linkModules } from '../../tools/link-modules.mjs';
import { MEASURES } from './measures/all.mjs';

/** The tests mostly wait. */
const AT_ONCE = 4;

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const COPIED = [
  'libs/distribute-lock/src',
  'libs/distribute-lock/package.json',
  'docs/guide/deployment.md',
  'test',
  'tools',
  'package.json',
  'jest.config.mjs',
];

async function copyWithout(measure) {
  const copy = await mkdtemp(join(tmpdir(), 'without-measure-'));
  for (const path of COPIED) await cp(join(root, path), join(copy, path), { recursive: true });
  linkModules(root, copy);
  await takeOut(copy, measure);
  if (measure.also !== undefined) await takeOut(copy, measure.also);
  if (measure.file.startsWith('store/protocol')) await compileRules(copy);
  return copy;
}

async function textWithout(folder, { file, measure, without }) {
  const text = await readFile(join(folder, 'libs/distribute-lock/src', file), 'utf8');
  if (text.split(measure).length !== 2) throw new Error(`"${measure}" does not occur exactly once in ${file}`);
  return text.replace(measure, () => without);
}

async function takeOut(copy, measure) {
  await writeFile(join(copy, 'libs/distribute-lock/src', measure.file), await textWithout(copy, measure));
}

/** Compiles the changed rules. */
async function compileRules(copy) {
  await run(process.execPath, ['tools/compile-lua.mjs'], { cwd: copy });
}

/** Whether the test fails. Throws when no test has that title. */
async function fails(copy, [spec, title]) {
  const pattern = title.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const jest = [
    'node_modules/jest/bin/jest.js',
    spec.includes('/') ? spec : `fault/${spec}`,
    '-t',
    pattern,
    '--forceExit',
    // Twice the usual limit: a test that only takes long on a busy machine must not count as one that noticed.
    '--testTimeout=120000',
    '--json',
    `--outputFile=${join(copy, 'report.json')}`,
  ];
  const args = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    ...jest,
    '--selectProjects',
    'fault',
    'sockets',
    'topologies',
    'unit',
    'simulation',
  ];
  const ended = await run(process.execPath, args, { cwd: copy, timeout: 300_000, maxBuffer: 1e8 }).catch(
    (error) => error,
  );
  const report = await readFile(join(copy, 'report.json'), 'utf8').catch(() => undefined);
  if (report === undefined) throw new Error(`Jest ended without a report: ${ended.stderr.slice(-1_000)}`);
  const { numFailedTests, numPassedTests } = JSON.parse(report);
  if (numFailedTests + numPassedTests === 0) throw new Error(`No test "${title}" in ${spec}`);
  return numFailedTests > 0;
}

async function outcomeOf(measure) {
  let copy;
  try {
    copy = await copyWithout(measure);
    return (await fails(copy, measure.test)) ? 'noticed' : 'NOT NOTICED';
  } catch (error) {
    return `NOT RUN: ${error.message}`;
  } finally {
    if (copy !== undefined) await rm(copy, { recursive: true, force: true });
  }
}

/** Every n-th measure: from a random first one, or from the given one. */
function partOf(text) {
  const [, given, all] = /^(?:(\d+)\/)?(\d+)$/.exec(text) ?? [];
  const of = Number(all);
  const number = Number(given ?? 1 + Math.floor(Math.random() * of));
  if (!(number >= 1 && number <= of)) throw new Error(`--part needs a number such as 10, or 3/10, not "${text}".`);
  if (of > 1) console.log(`part ${number}/${of}`);
  return { has: (i) => i % of === number - 1 };
}

/** A file that does not compile proves nothing. */
function checkSyntax(file, text) {
  if (!file.endsWith('.ts')) return;
  const { diagnostics } = ts.transpileModule(text, { reportDiagnostics: true });
  const [fault] = diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  if (fault !== undefined) throw new Error(`${file} does not compile: ${fault}`);
}

/** Whether the code of the measure still exists, and its removal compiles. */
async function placeOf(measure) {
  try {
    for (const one of [measure, measure.also ?? measure]) checkSyntax(one.file, await textWithout(root, one));
    return 'there';
  } catch (error) {
    return `NOT USABLE: ${error.message}`;
  }
}

const { values, positionals: words } = parseArgs({
  options: { check: { type: 'boolean', default: false }, part: { type: 'string', default: '1/1' } },
  allowPositionals: true,
});
const only = values.check;
const good = only ? 'there' : 'noticed';
const part = partOf(values.part);
const wanted = ({ promise, what }, i) =>
  part.has(i) && (words.length === 0 || words.some((word) => word === promise || what.includes(word)));
const queue = MEASURES.filter(wanted).values();
let missed = 0;
async function work() {
  for (const measure of queue) {
    const started = performance.now();
    const outcome = await (only ? placeOf(measure) : outcomeOf(measure));
    const seconds = `${Math.round((performance.now() - started) / 1_000)} s`.padStart(5);
    if (outcome !== good) missed += 1;
    if (!only || outcome !== good)
      console.log(`${seconds}  ${measure.promise.padEnd(8)} ${outcome.padEnd(11)} ${measure.what}`);
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, work));
process.exitCode = missed === 0 ? 0 : 1;
