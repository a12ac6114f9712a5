#!/usr/bin/env node
/**
 * Removes one measure after the other from a copy of the library, and checks that the test of the measure fails then.
 * A promise whose test passes without its measure is not tested.
 *   usage: without-measures.mjs [P6 quorum 'words of a measure' ...]
 *          without-measures.mjs --check     only checks that each measure occurs exactly once in its file
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { measuresOfLinks } from './measures-links.mjs';
import { measuresOfOneCall } from './measures-one-call.mjs';
import { measuresP1toP7 } from './measures-p1-to-p7.mjs';
import { measuresP11 } from './measures-p11.mjs';
import { measuresP17 } from './measures-p17.mjs';
import { measuresP19 } from './measures-p19.mjs';
import { measuresP20 } from './measures-p20.mjs';
import { measuresP21 } from './measures-p21.mjs';
import { measuresP22 } from './measures-p22.mjs';
import { measuresP23 } from './measures-p23.mjs';
import { measuresP24P25 } from './measures-p24-p25.mjs';
import { measuresP26 } from './measures-p26.mjs';
import { measuresP8toP17 } from './measures-p8-to-p17.mjs';
import { measuresOfTopologies } from './measures-topologies.mjs';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const COPIED = [
  'libs/distribute-lock/src',
  'libs/distribute-lock/package.json',
  'test',
  'tools',
  'package.json',
  'jest.config.mjs',
];

async function copyWithout(measure) {
  const copy = await mkdtemp(join(tmpdir(), 'without-measure-'));
  for (const path of COPIED) await cp(join(root, path), join(copy, path), { recursive: true });
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  await takeOut(copy, measure);
  if (measure.also !== undefined) await takeOut(copy, measure.also);
  return copy;
}

async function textWithout(folder, { file, measure, without }) {
  const text = await readFile(join(folder, 'libs/distribute-lock/src', file), 'utf8');
  if (text.split(measure).length !== 2) throw new Error(`"${measure}" does not occur exactly once in ${file}`);
  return text.replace(measure, () => without);
}

async function takeOut(copy, measure) {
  const { file } = measure;
  await writeFile(join(copy, 'libs/distribute-lock/src', file), await textWithout(copy, measure));
  if (file.endsWith('.lua')) await run(process.execPath, ['tools/compile-lua.mjs'], { cwd: copy });
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
    '--json',
  ];
  const args = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    ...jest,
    '--selectProjects',
    'fault',
    'sockets',
    'unit',
  ];
  const { stdout } = await run(process.execPath, args, { cwd: copy, timeout: 120_000, maxBuffer: 1e8 }).catch((e) => e);
  const { numFailedTests, numPassedTests } = JSON.parse(stdout);
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

/** Whether the code of the measure still exists. */
async function placeOf(measure) {
  try {
    for (const one of [measure, measure.also ?? measure]) await textWithout(root, one);
    return 'there';
  } catch (error) {
    return `GONE: ${error.message}`;
  }
}

const asked = process.argv.slice(2).filter((word) => word !== '--check');
const only = process.argv.includes('--check');
const good = only ? 'there' : 'noticed';
const wanted = ({ promise, what }) =>
  asked.length === 0 || asked.some((word) => word === promise || what.includes(word));
let missed = 0;
const all = [
  ...measuresP1toP7,
  ...measuresP8toP17,
  ...measuresP17,
  ...measuresP11,
  ...measuresP19,
  ...measuresP20,
  ...measuresOfOneCall,
  ...measuresP21,
  ...measuresP22,
  ...measuresP23,
  ...measuresP24P25,
  ...measuresP26,
  ...measuresOfTopologies,
  ...measuresOfLinks,
];
for (const measure of all.filter(wanted)) {
  const outcome = await (only ? placeOf(measure) : outcomeOf(measure));
  if (outcome !== good) missed += 1;
  if (!only || outcome !== good) console.log(`${measure.promise.padEnd(8)} ${outcome.padEnd(11)} ${measure.what}`);
}
process.exitCode = missed === 0 ? 0 : 1;
