#!/usr/bin/env node
/**
 * Runs `npm test` on several versions of Node, whose binaries are npm packages.
 *   usage: test-nodes.mjs [version ...] [-- options of Jest ...]
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSIONS = ['20', '22', '24', '26'];
const root = fileURLToPath(new URL('../', import.meta.url));

/** Path of the binary; the package is installed unless the cache has it. */
function install(version) {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(root, 'node_modules/.cache/nodes', version);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const args = ['install', '--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel', 'error'];
  execFileSync('npm', [...args, '--prefer-offline', `${name}@${version}`], { cwd: folder, stdio: 'inherit' });
  return join(folder, 'node_modules', name, 'bin/node');
}

/** Whether the tests pass on that version. */
function passes(version, options) {
  const binary = install(version);
  const found = execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim();
  console.log(`\n=== Node ${found}`);
  const env = { ...process.env, PATH: `${dirname(binary)}${delimiter}${process.env.PATH}` };
  const { status } = spawnSync('npm', ['test', '--', ...options], { cwd: root, env, stdio: 'inherit' });
  console.log(`Node ${found}: ${status === 0 ? 'passed' : 'FAILED'}`);
  return status === 0;
}

const words = process.argv.slice(2);
const end = words.includes('--') ? words.indexOf('--') : words.length;
const versions = end === 0 ? VERSIONS : words.slice(0, end);
const failed = versions.filter((version) => !passes(version, words.slice(end + 1)));
if (failed.length > 0) console.error(`The tests failed on Node ${failed.join(', ')}.`);
process.exitCode = failed.length === 0 ? 0 : 1;
