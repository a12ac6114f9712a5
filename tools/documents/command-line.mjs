/** Tables of the program `distribute-lock`, from the tables with which it parses its command line and checks a server. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';
import { buildSync } from 'esbuild';

const SOURCES = 'libs/cli/src';
const loaded = new Map();

/**
 * The titles and rows of one table.
 * @param what - `commands`, `exit codes`, `shared flags`, `checks`, or `flags of run`
 */
export function commandLineTable(root, what) {
  if (what === 'checks') {
    const { CHECKS } = load(root, 'doctor/checks.ts');
    const rows = Object.entries(CHECKS).map(([name, { about, faults }]) => [name, about, faults]);
    return [['row', 'what it checks', 'result'], rows];
  }
  const { COMMANDS, EXIT_CODES, SHARED_FLAGS } = load(root, 'table.ts');
  const { labelOf, flagText, usageOf } = load(root, 'help.ts');
  if (what === 'commands') {
    const rows = Object.entries(COMMANDS).map(([name, { about }]) => [`\`${usageOf(name)}\``, about]);
    return [['command', 'what it does'], rows];
  }
  if (what === 'exit codes') {
    return [['code', 'meaning'], Object.values(EXIT_CODES).map(({ code, about }) => [`${code}`, about])];
  }
  const flags = what === 'shared flags' ? SHARED_FLAGS : COMMANDS[what.replace('flags of ', '')].flags;
  const rows = Object.entries(flags).map(([long, flag]) => [`\`${labelOf(long, flag).trim()}\``, flagText(flag)]);
  return [['flag', 'what it does (default)'], rows];
}

/** The module with its imports, as one program. */
function load(root, file) {
  const path = join(root, SOURCES, file);
  if (!loaded.has(path)) {
    const { outputFiles } = buildSync({
      entryPoints: [path],
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'cjs',
      write: false,
    });
    const module = { exports: {} };
    const run = compileFunction(outputFiles[0].text, ['module', 'exports', 'require']);
    run(module, module.exports, createRequire(path));
    loaded.set(path, module.exports);
  }
  return loaded.get(path);
}
