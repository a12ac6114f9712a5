/**
 * Builds the program `distribute-lock`: one file for all commands, and one for the guard process. A command is evaluated when it
 * runs, and the library is loaded when a command needs it. `npm run typecheck` checks the types.
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { CLI } from './package/library.mjs';

const SOURCES = join(CLI, 'src');
const TARGET = join(CLI, 'dist');

export const PROGRAM = join(TARGET, 'distribute-lock.cjs');

rmSync(TARGET, { recursive: true, force: true });
await build({
  entryPoints: { 'distribute-lock': join(SOURCES, 'main.ts'), guard: join(SOURCES, 'guard/main.ts') },
  outdir: TARGET,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  packages: 'external',
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  // The CommonJS of the library loads in half the time of its ES modules.
  supported: { 'dynamic-import': false },
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 500,
  charset: 'utf8',
  legalComments: 'none',
});
// The shell reads the file first, so that it starts Node.
writeFileSync(PROGRAM, `${readFileSync(join(SOURCES, 'start.sh'), 'utf8')}${readFileSync(PROGRAM, 'utf8')}`, {
  mode: 0o755,
});
chmodSync(PROGRAM, 0o755);
