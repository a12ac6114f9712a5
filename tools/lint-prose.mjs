#!/usr/bin/env node
/**
 * Checks the English of documents, comments, test titles and messages: no phrase of tools/prose/phrases.mjs, no sentence of
 * more than 30 words. A colon or a semicolon ends a sentence too. Prints file, line, rule and sentence of each fault.
 *   usage: lint-prose.mjs [file or folder...]
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { proseFaults } from './prose/faults.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['.changeset', '.github', 'apps', 'bench', 'docs', 'libs', 'test', 'tools'];
const SKIPPED = new Set(['node_modules', 'dist', 'generated', 'etc']);
const PROSE = /\.(?:ts|mjs|lua|md)$/;

const given = process.argv.slice(2);
const files = (given.length > 0 ? given : atTop()).flatMap((name) => filesIn(name));
const faults = files.flatMap((file) =>
  proseFaults(file, readFileSync(join(root, file), 'utf8')).map(
    ({ line, rule, sentence }) => `${file}:${line}: ${rule}\n    ${sentence}`,
  ),
);
for (const fault of faults) console.error(fault);
if (faults.length > 0) {
  console.error(`prose: ${faults.length} sentences to rewrite`);
  process.exitCode = 1;
}

/** The folders, and the documents beside them. */
function atTop() {
  return readdirSync(root).filter((name) => FOLDERS.includes(name) || name.endsWith('.md'));
}

function filesIn(name) {
  if (statSync(join(root, name)).isFile()) return [name];
  return readdirSync(join(root, name), { withFileTypes: true }).flatMap((entry) => {
    const path = relative(root, join(root, name, entry.name));
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : filesIn(path);
    return PROSE.test(entry.name) ? [path] : [];
  });
}
