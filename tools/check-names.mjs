#!/usr/bin/env node
/**
 * Checks names: no two exports of the library share one, no thing has two, and none contains a word that the glossary
 * replaces. Names of tests, tools, benchmarks and applications are checked for the old words of questions and answers only.
 * Prints file, line and name of each fault.
 *   usage: check-names.mjs
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dialectFaults, nameFaults, wordFault } from './name-faults.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const LIBRARY = 'libs/distribute-lock/src';

const inFolder = (folder, wanted) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => wanted.test(file) && !/(?:^|[\\/])(?:node_modules|dist)[\\/]/.test(file))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
    .sort();

const sources = inFolder(LIBRARY, /(?<!\.spec)\.ts$/).map((file) => [file, readFileSync(join(root, file), 'utf8')]);
const named = [LIBRARY, 'test', 'tools'].flatMap((folder) => inFolder(folder, /\.(?:ts|mjs|lua)$/));
const faults = nameFaults(sources);
for (const file of named) {
  const fault = wordFault(basename(file).replace(/\.\w+$/, ''));
  if (fault !== undefined) faults.push(`${file}: ${fault}`);
}
const others = ['test', 'tools', 'bench', 'apps'].flatMap((folder) => inFolder(folder, /\.(?:ts|mjs|cjs)$/));
for (const file of others) faults.push(...dialectFaults(file, readFileSync(join(root, file), 'utf8')));
for (const fault of faults) console.error(`names: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
