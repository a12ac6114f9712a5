#!/usr/bin/env node
/**
 * Finds races with the wall clock in the tests of `npm run test:all`. A comment "Real time: reason" in the line before permits a place.
 *   usage: check-races.mjs
 */
import { filesIn, textOf } from './files-in.mjs';
import { raceFaults } from './race-faults.mjs';

const TESTS = ['support', 'contract', 'locks', 'nest', 'docs', 'recipes', 'e2e', 'package'].map(
  (name) => `test/${name}`,
);

const files = ['libs/distribute-lock/src', 'apps', ...TESTS].flatMap((name) =>
  filesIn(name, /(?:\.spec|-contract)\.ts$/),
);
const faults = files.flatMap((file) => raceFaults(file, textOf(file)));
for (const fault of faults) console.error(`races: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
