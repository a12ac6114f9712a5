#!/usr/bin/env node
/**
 * Fills in what documents show of code: snippets from the files that they are cut from, tables of options from the TSDoc.
 *   usage: documents.mjs [--check]
 * With --check nothing is written; the exit code is 1 when something is not what the code says, or a link leads nowhere.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isHistory, readDocuments } from './documents/documents.mjs';
import { documentFaults } from './documents/faults.mjs';
import { withOptionTables } from './documents/option-tables.mjs';
import { filled } from './documents/snippets.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

if (!process.argv.includes('--check')) {
  for (const { name, text } of readDocuments(root)) {
    const now = isHistory(name) ? text : withOptionTables(root, filled(root, text));
    if (now === text) continue;
    writeFileSync(join(root, name), now);
    console.log(`docs: wrote ${name}`);
  }
}
const faults = documentFaults(root);
for (const fault of faults) console.error(`docs: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
