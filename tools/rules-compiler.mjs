import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import * as tstl from 'typescript-to-lua';
import { nested } from './rules/nest.mjs';
import { ownConversion, withPatterns } from './rules/patterns.mjs';
import { piecesOf, withValues } from './rules/pieces.mjs';

const STORE = fileURLToPath(new URL('../libs/distribute-lock/src/store/', import.meta.url));
/** Files of the store whose constants are written into the scripts. */
const CONSTANTS = ['protocol.ts', 'lock-value.ts', 'protocol/reply-codes.ts'];
/** Files of the rules that a script has in another form: as constants, in `host.lua`, or as globals of Redis. */
const OTHERS = ['reply-codes.ts', 'host.ts', 'run-rule.ts', 'server.ts', 'settings.ts'];
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
 * Compiles the rules in a folder, all at once. Returns a function that makes the Lua script of one rule, with all that it uses.
 * Numbers of the protocol and reply codes are literals there.
 */
export function compilerOf(folder = join(STORE, 'protocol')) {
  const textOf = (name) => readFileSync(join(folder, name), 'utf8');
  const rules = readdirSync(folder).filter((name) => /(?<!\.spec)\.ts$/.test(name) && !OTHERS.includes(name));
  const constants = CONSTANTS.flatMap((name) => constantsIn(readFileSync(join(STORE, name), 'utf8')));
  const globals = globalsOf(textOf('server.ts'), textOf('host.ts'));
  const { pieces, constants: values } = piecesOf(
    compile([globals, ...constants, ...rules.map((name) => withoutModules(textOf(name)))]),
  );
  return (entry) => {
    if (!pieces.has(entry)) throw new Error(`no rule is named ${entry}`);
    const lua = ownConversion(withPatterns(nested(pieces, entry), withValues(textOf('host.lua'), values)));
    return shortPathOf(folder, entry) + withSettings(lua);
  };
}

const constantsIn = (text) => text.match(/(?<=^export )const [A-Z]\w* = .*;$/gm);

/** The text without imports, as a part of one file. */
const withoutModules = (text) => text.replace(/^import [^;]*;\n/gm, '').replace(/^export /gm, '');

/** What a script finds, as declarations for the compiler. A result `readonly [...]` is several values in Lua, without a table. */
function globalsOf(server, host) {
  const several = ts
    .transpileDeclaration(host, {})
    .outputText.replace(/: readonly (\[.*\]);/g, ': LuaMultiReturn<$1>;');
  return `${withoutModules(server.slice(0, server.indexOf('/** The server of the present script.')) + several)}
declare const redis: Server;
declare const KEYS: readonly string[];
declare const ARGV: readonly string[];
declare const counted: boolean;
declare const sharded: boolean;
declare const fenceMs: number | undefined;
`;
}

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

/** The Lua of the rules, without comments. A list of values is in one line. */
function compile(texts) {
  const files = { 'rules.ts': [...texts, 'export {};'].join('\n') };
  const { diagnostics, transpiledFiles } = tstl.transpileVirtualProject(files, OPTIONS);
  const errors = diagnostics.filter(({ category }) => category === ts.DiagnosticCategory.Error);
  if (errors.length > 0) throw new Error(errors.map(faultOf).join('\n'));
  const { lua } = transpiledFiles.find((file) => file.lua !== undefined);
  const code = lua.replace('local ____exports = {}\n', '').replace(/^ *--.*\n/gm, '');
  return code.replace(/(?<=[({])\n +|\n +(?=[)}])/g, '').replace(/,\n +/g, ', ');
}

function faultOf({ messageText, file, start }) {
  const text = ts.flattenDiagnosticMessageText(messageText, '\n');
  return file ? `${text} at: ${file.text.slice(start).split('\n', 1)[0]}` : text;
}
