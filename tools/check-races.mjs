#!/usr/bin/env node
/**
 * Finds races with the wall clock in the tests of `npm test`. A comment "Real time: reason" in the line before permits a place.
 *   usage: check-races.mjs
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { raceFaults } from './race-faults.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = [
  'libs/distribute-lock/src',
  'apps',
  'test/support',
  'test/contract',
  'test/nest',
  'test/docs',
  'test/recipes',
];
const TESTS = /(?:\.spec|-contract)\.ts$/;

const files = [...FOLDERS, 'test/e2e', 'test/package'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => TESTS.test(file) && !/(?:^|[\\/])(?:node_modules|dist)[\\/]/.test(file))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`),
);
const faults = files.sort().flatMap((file) => raceFaults(file, readFileSync(join(root, file), 'utf8')));
for (const fault of faults) console.error(`races: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
