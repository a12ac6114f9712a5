#!/usr/bin/env node
/**
 * Runs the histories: `npm run test:histories -- [--operations N] [--seed N [--theme NAME]] [--from N] [options of Jest]`.
 * --operations: the total number (10,000 by default), --seed: only this history, of that theme if there is one, --from: the
 * first seed.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const OURS = {
  '--operations': 'HISTORIES_OPERATIONS',
  '--seed': 'HISTORIES_SEED',
  '--theme': 'HISTORIES_THEME',
  '--from': 'HISTORIES_FROM',
};
const FORMS = { integer: /^\d+$/, name: /^\w+$/ };

const env = { ...process.env };
const others = [];
const given = process.argv.slice(2);
while (given.length > 0) {
  const [name, value] = given.shift().split(/=(.*)/s);
  if (!(name in OURS)) others.push(value === undefined ? name : `${name}=${value}`);
  else if (FORMS[name === '--theme' ? 'name' : 'integer'].test((env[OURS[name]] = value ?? given.shift() ?? '')))
    continue;
  else throw new Error(`${name} needs ${name === '--theme' ? 'a name' : 'an integer'}.`);
}

const jest = fileURLToPath(new URL('../../node_modules/jest/bin/jest.js', import.meta.url));
const options = [
  '--selectProjects',
  'histories',
  '--maxWorkers=3',
  '--maxConcurrency=3',
  '--passWithNoTests=false',
  ...others,
];
const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
const child = spawn(process.execPath, [...node, jest, ...options], { stdio: 'inherit', env });
child.on('exit', (code) => process.exit(code ?? 1));
