import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import * as tstl from 'typescript-to-lua';
import { Bundle } from './rules/bundle.mjs';
import { nested } from './rules/nest.mjs';
import { ownConversion, withPatterns } from './rules/patterns.mjs';
import { readSources } from './rules/sources.mjs';
import { declaredTypes } from './rules/types.mjs';

const STORE = fileURLToPath(new URL('../libs/distribute-lock/src/store/', import.meta.url));
const RULES = join(STORE, 'protocol');

/** The settings of the rules for one primary. `store/lua-script.ts` replaces these texts for Redis Cluster. */
const SETTINGS = ['local counted = true\n', 'local sharded = false\n', 'local fenceMs = nil\n'];

const OPTIONS = {
  luaTarget: tstl.LuaTarget.Lua51,
  luaLibImport: tstl.LuaLibImportKind.Inline,
  noImplicitSelf: true,
  noHeader: true,
  strict: true,
  target: ts.ScriptTarget.ESNext,
  lib: ['lib.esnext.d.ts'],
  types: ['@typescript-to-lua/language-extensions'],
};

/**
 * Compiles the rule `entry` of `store/protocol`, and all that it uses, into one Lua script. Numbers of the protocol and
 * reply codes are literals there.
 */
export function compileRules(entry, folder = RULES) {
  const sources = readSources(STORE, folder);
  const { pieces } = new Bundle(sources, entry);
  const compiled = withoutEntry(joinedLines(compile(nested(pieces), declaredTypes(sources))), entry);
  const lua = withSettings(ownConversion(withPatterns(compiled, folder)));
  const numbered = lua.replace(/\b[A-Z][A-Z_]{3,}\b/g, (name) => sources.numbers.get(name) ?? name);
  return shortPathOf(folder, entry) + numbered;
}

/** A list of values is in one line. */
const joinedLines = (lua) => lua.replace(/(?<=[({])\n +|\n +(?=[)}])/g, '').replace(/,\n +/g, ', ');

/** Sets the settings that the script uses. */
function withSettings(lua) {
  const isUsed = (line) => new RegExp(`\\b${/local (\w+)/.exec(line)[1]}\\b`).test(lua);
  return SETTINGS.filter(isUsed).join('') + lua;
}

/** Lua that ends a script in a common case, before the rules. It is written by hand because it must be fast. */
function shortPathOf(folder, entry) {
  const file = join(folder, `${entry}.lua`);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** The statements of the entry become those of the script. */
function withoutEntry(lua, entry) {
  const declaration = new RegExp(`^local function ${entry}\\(\\)\\n([^]*)\\nend\\n$`, 'm');
  return lua.replace(declaration, (_, statements) => `${statements.replaceAll(/^ {4}/gm, '')}\n`);
}

function compile(rules, types) {
  const files = { 'rules.ts': `${rules}\nexport {};\n`, 'types.d.ts': types };
  const { diagnostics, transpiledFiles } = tstl.transpileVirtualProject(files, OPTIONS);
  const errors = diagnostics.filter(({ category }) => category === ts.DiagnosticCategory.Error);
  if (errors.length > 0) throw new Error(errors.map(faultOf).join('\n'));
  const { lua } = transpiledFiles.find((file) => file.lua !== undefined);
  return lua.replace('local ____exports = {}\n', '').replace(/return ____exports\s*$/, '');
}

function faultOf({ messageText, file, start }) {
  const text = ts.flattenDiagnosticMessageText(messageText, '\n');
  return file ? `${text} at: ${file.text.slice(start).split('\n', 1)[0]}` : text;
}
