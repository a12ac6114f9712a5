#!/usr/bin/env node
/**
 * Proves that every gate can fail. Applies one fault at a time to a copy of the repository and runs the gate as `npm run check`
 * does. The gate must exit with a failure and name the fault.
 *   usage: check-canaries.mjs ['words of a gate or fault' ...]
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canaries } from './canaries.mjs';
import { linkModules } from './link-modules.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const wanted = wantedOf([...canaries, boundaries()], process.argv.slice(2));
const failures = [];

await Promise.all([releaseAll(), releaseAll()]); // most gates use one processor
if (failures.length > 0) {
  console.error(failures.join('\n'));
  process.exitCode = 1;
}

/** All canaries without a filter. Every filter must match a canary, so that a misspelt one does not pass. */
function wantedOf(all, filters) {
  const matches = ({ gate, wrong }, words) => `${gate}: ${wrong}`.includes(words);
  const idle = filters.filter((words) => !all.some((canary) => matches(canary, words)));
  if (idle.length > 0) throw new Error(`no canary has the words "${idle.join('", "')}"`);
  return filters.length === 0 ? all : all.filter((canary) => filters.some((words) => matches(canary, words)));
}

/** Creates a copy of the repository and applies canaries in it until the list is empty. */
async function releaseAll() {
  const copy = mkdtempSync(join(tmpdir(), 'canaries-'));
  try {
    copyRepository(copy);
    for (let canary = wanted.shift(); canary !== undefined; canary = wanted.shift()) {
      const { seconds, missed } = await release(copy, canary);
      console.log(`${missed.length === 0 ? 'caught' : 'MISSED'}  ${canary.gate}: ${canary.wrong} (${seconds} s)`);
      for (const text of missed) failures.push(`${canary.gate}: ${text}`);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Applies one canary and reverts it; returns the expected messages that the gate did not print. */
async function release(copy, { script, files, says }) {
  for (const [file, text] of Object.entries(files)) write(join(copy, file), text);
  const startedAt = performance.now();
  const { status, output } = await run(copy, script);
  for (const file of Object.keys(files)) restore(copy, file);
  const missed = says.filter((text) => !output.includes(text)).map((text) => `did not say "${text}", but:\n${output}`);
  if (status === 0) missed.unshift('exited with 0');
  return { seconds: ((performance.now() - startedAt) / 1000).toFixed(1), missed };
}

/** The wrong imports in the repository, one per file. */
function boundaries() {
  const folder = 'test/support/boundary-canary';
  const wrong = readdirSync(join(root, folder), { recursive: true }).map((file) => basename(file));
  return {
    gate: 'dependency-cruiser',
    wrong: `the imports in ${folder}`,
    script: ['depcruise', '--', folder],
    files: {},
    says: wrong.filter((file) => file.startsWith('wrong-')),
  };
}

/** Runs a script of `package.json`, and collects what it prints. */
async function run(copy, script) {
  const child = spawn('npm', ['run', '--silent', ...script], { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const [status] = await once(child, 'close');
  return { status, output };
}

function copyRepository(copy) {
  const { stdout } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  const files = String(stdout).split('\0').filter(Boolean);
  if (files.length === 0) throw new Error('git knows no files: the canaries need a clone');
  for (const file of files) restore(copy, file);
  linkModules(root, copy);
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Restores the file from the repository, or removes it when the repository does not contain it. */
function restore(copy, file) {
  rmSync(join(copy, file), { force: true });
  try {
    cpSync(join(root, file), join(copy, file));
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}
