#!/usr/bin/env node
/**
 * Compiles the Lua scripts and their reply codes into TypeScript modules, so that the library ships no assets. Fails when
 * a script or a module of the library defines or spells a reply code or a number of the protocol a second time.
 *   usage: compile-lua.mjs [--check] [--lua FOLDER] [--out FOLDER]
 * With --check no file is written; the exit code is 1 when FOLDER differs from the compiled scripts.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { currentText } from './current-text.mjs';
import { compileFolder } from './lua-compiler.mjs';
import { checkTypeScriptNumbers, readProtocolNumbers } from './protocol-numbers.mjs';
import { checkTypeScriptReplies, readReplyCodes } from './reply-codes.mjs';

const PROTOCOL = /^store[\\/]protocol\.ts$/;
const lua = fileURLToPath(new URL('../libs/distribute-lock/src/store/lua/', import.meta.url));
const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    lua: { type: 'string', default: lua },
    out: { type: 'string', default: `${lua}generated` },
  },
});

try {
  checkLibrary();
  for (const [name, compiled] of Object.entries(compileFolder(values.lua))) {
    const file = join(values.out, name);
    const shown = relative(process.cwd(), file);
    if (!values.check) {
      mkdirSync(values.out, { recursive: true });
      writeFileSync(file, compiled);
      console.log(`lua: wrote ${shown}`);
    } else if (compiled !== currentText(file)) {
      throw new Error(`${shown} differs from the compiled scripts: run \`npm run lua\``);
    }
  }
} catch (error) {
  console.error(`lua: ${error.message}`);
  process.exitCode = 1;
}

/** Production code uses reply codes and protocol numbers by name; specs may state the numbers on the wire. */
function checkLibrary() {
  const codes = readReplyCodes(values.lua);
  const numbers = readProtocolNumbers(values.lua);
  const library = fileURLToPath(new URL('../libs/distribute-lock/src/', import.meta.url));
  for (const file of readdirSync(library, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || /\.spec\.ts$|(?:^|[\\/])generated[\\/]/.test(file)) continue;
    try {
      const source = readFileSync(join(library, file), 'utf8');
      checkTypeScriptReplies(source, codes);
      if (!PROTOCOL.test(file)) checkTypeScriptNumbers(source, numbers);
    } catch (error) {
      throw new Error(`${file}: ${error.message}`, { cause: error });
    }
  }
}
