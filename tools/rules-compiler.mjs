import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import * as tstl from 'typescript-to-lua';
import { Bundle } from './rules/bundle.mjs';
import { nested } from './rules/nest.mjs';
import { withPatterns } from './rules/patterns.mjs';
import { readSources } from './rules/sources.mjs';
import { declaredTypes } from './rules/types.mjs';

const STORE = fileURLToPath(new URL('../libs/distribute-lock/src/store/', import.meta.url));
const RULES = join(STORE, 'protocol');

/**
 * Settings of the rules for one primary, for Redis Cluster, and for a large Cluster. In a Cluster each lock has a counter of
 * fencing tokens. In a large one, messages go to a channel in the slot of the lock.
 */
export const SETTINGS = {
  onePrimary: 'local counted = true\nlocal sharded = false\nlocal fenceMs = nil\n',
  cluster: 'local counted = false\nlocal sharded = false\nlocal fenceMs = FENCE_TTL_MS\n',
  largeCluster: 'local counted = false\nlocal sharded = true\nlocal fenceMs = FENCE_TTL_MS\n',
};

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
export function compileRules(entry, settings = SETTINGS.onePrimary, folder = RULES) {
  const sources = readSources(STORE, folder);
  const { pieces, patterns } = new Bundle(sources, entry);
  const compiled = `${compile(nested(pieces, entry), declaredTypes(sources))}return ${entry}()\n`;
  const lua = settings + withPatterns(compiled, folder, patterns);
  const numbered = lua.replace(/\b[A-Z][A-Z_]{3,}\b/g, (name) => sources.numbers.get(name) ?? name);
  return shortPathOf(folder, entry) + numbered;
}

/** Lua that ends a script in a common case, before the rules. It is written by hand because it must be fast. */
function shortPathOf(folder, entry) {
  const file = join(folder, `${entry}.lua`);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
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
