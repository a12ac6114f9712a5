#!/usr/bin/env node
/**
 * Writes the interface of lock options from their table. Fills in the code of documents: snippets from their source files,
 * and tables of options, events, values and measures from the code. Draws the plots of the benchmark. Writes `llms.txt`.
 *   usage: documents.mjs [--check]
 * With --check no file is written; the exit code is 1 when a text differs from the code, or a link leads nowhere.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isHistory, readDocuments } from './documents/documents.mjs';
import { documentFaults } from './documents/faults.mjs';
import { INTERFACE, optionInterface, optionInterfaceFaults } from './documents/option-interface.mjs';
import { INDEX, llmsFaults, llmsIndex } from './documents/llms.mjs';
import { plotFaults, writePlots } from './documents/plots.mjs';
import { withTables } from './documents/tables.mjs';
import { filled } from './documents/snippets.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

if (!process.argv.includes('--check')) {
  if (optionInterfaceFaults(root).length > 0) {
    mkdirSync(dirname(join(root, INTERFACE)), { recursive: true });
    writeFileSync(join(root, INTERFACE), optionInterface(root));
    console.log(`docs: wrote ${INTERFACE}`);
  }
  for (const path of writePlots(root)) console.log(`docs: wrote ${path}`);
  for (const { name, text } of readDocuments(root)) {
    const now = isHistory(name) ? text : withTables(root, filled(root, text));
    if (now === text) continue;
    writeFileSync(join(root, name), now);
    console.log(`docs: wrote ${name}`);
  }
  if (llmsFaults(root).length > 0) {
    writeFileSync(join(root, INDEX), llmsIndex(root));
    console.log(`docs: wrote ${INDEX}`);
  }
}
const faults = [...optionInterfaceFaults(root), ...plotFaults(root), ...documentFaults(root), ...llmsFaults(root)];
for (const fault of faults) console.error(`docs: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
