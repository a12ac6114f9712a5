#!/usr/bin/env node
/**
 * Compiles the rules in store/protocol into the scripts for Redis, as a TypeScript module, so that the library ships no
 * assets. Fails when a file of the library defines or spells a reply code or a number of the protocol a second time.
 *   usage: compile-lua.mjs [--check]
 * With --check no file is written; the exit code is 1 when the module differs from the rules.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { currentText } from './current-text.mjs';
import { checkProtocolNames } from './rules/protocol-names.mjs';
import { scriptsModule } from './rules/scripts-module.mjs';

const SOURCE = fileURLToPath(new URL('../libs/distribute-lock/src/', import.meta.url));
const file = join(SOURCE, 'store/generated/lua-scripts.ts');
const shown = relative(process.cwd(), file);
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });

try {
  checkProtocolNames(SOURCE);
  const text = scriptsModule();
  if (!values.check) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    console.log(`lua: wrote ${shown}`);
  } else if (text !== currentText(file)) {
    throw new Error(`${shown} differs from the compiled rules: run \`npm run lua\``);
  }
} catch (error) {
  console.error(`lua: ${error.message}`);
  process.exitCode = 1;
}
