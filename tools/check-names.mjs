#!/usr/bin/env node
/**
 * Checks names: no two exports of a package share one, no thing has two, and none contains a word that the glossary
 * replaces. Names of tests, tools, benchmarks and applications are checked for the old words of questions and answers only.
 * Prints file, line and name of each fault.
 *   usage: check-names.mjs
 */
import { basename } from 'node:path';
import { filesIn, textOf } from './files-in.mjs';
import { dialectFaults, nameFaults, wordFault } from './name-faults.mjs';

const PACKAGES = ['libs/distribute-lock/src', 'libs/cli/src'];

const faults = PACKAGES.flatMap((folder) =>
  nameFaults(filesIn(folder, /(?<!\.spec)\.ts$/).map((file) => [file, textOf(file)])),
);
const named = [...PACKAGES, 'test', 'tools'].flatMap((folder) => filesIn(folder, /\.(?:ts|mjs|lua)$/));
for (const file of named) {
  const fault = wordFault(basename(file).replace(/\.\w+$/, ''));
  if (fault !== undefined) faults.push(`${file}: ${fault}`);
}
const others = ['test', 'tools', 'bench', 'apps'].flatMap((folder) => filesIn(folder, /\.(?:ts|mjs|cjs)$/));
for (const file of others) faults.push(...dialectFaults(file, textOf(file)));
for (const fault of faults) console.error(`names: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
