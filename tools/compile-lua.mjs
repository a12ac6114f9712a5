#!/usr/bin/env node
/**
 * Compiles the Lua scripts into TypeScript modules, so that the library ships no assets.
 *   usage: compile-lua.mjs [--check] [--lua FOLDER] [--out FOLDER]
 * With --check no file is written; the exit code is 1 when FOLDER differs from the compiled scripts.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compileFolder } from './lua-compiler.mjs';

const lua = fileURLToPath(new URL('../libs/distribute-lock/src/store/lua/', import.meta.url));
const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    lua: { type: 'string', default: lua },
    out: { type: 'string', default: `${lua}generated` },
  },
});

try {
  for (const [name, compiled] of Object.entries(compileFolder(values.lua))) {
    const file = join(values.out, name);
    const shown = relative(process.cwd(), file);
    if (!values.check) {
      mkdirSync(values.out, { recursive: true });
      writeFileSync(file, compiled);
      console.log(`lua: wrote ${shown}`);
    } else if (compiled !== current(file)) {
      throw new Error(`${shown} differs from the compiled scripts: run \`npm run lua\``);
    }
  }
} catch (error) {
  console.error(`lua: ${error.message}`);
  process.exitCode = 1;
}

function current(file) {
  try {
    return readFileSync(file, 'utf8').replace(/\r\n/g, '\n');
  } catch {
    return undefined;
  }
}
