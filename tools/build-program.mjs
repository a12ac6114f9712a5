/**
 * Builds the program `distribute-lock`: one file for most commands, one for each of `APART`, and one for the guard process. A command is evaluated when it
 * runs, and the library is loaded when a command needs it. `npm run typecheck` checks the types.
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { CLI } from './package/library.mjs';

const SOURCES = join(CLI, 'src');
const TARGET = join(CLI, 'dist');

export const PROGRAM = join(TARGET, 'distribute-lock.cjs');

/**
 * Commands with code of the library that the other commands do not need. Each has a separate file, because a bundle removes unused
 * code only from what an entry imports statically.
 */
const APART = ['doctor', 'list'];

/** Leaves the import of such a command to the program. */
const commandsApart = {
  name: 'commands-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/commands\// }, ({ path }) => {
      const name = basename(path, '.js');
      return APART.includes(name) ? { path: `./${name}.cjs`, external: true } : undefined;
    });
  },
};

/** Replaces the scripts, which their module composes, by their texts, so that the bundle contains only the scripts that it uses. */
const composedScripts = {
  name: 'composed-scripts',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]lua-scripts\.ts$/ }, async ({ path }) => {
      const { outputFiles } = await build({
        entryPoints: [path],
        bundle: true,
        platform: 'node',
        format: 'esm',
        write: false,
      });
      const code = Buffer.from(outputFiles[0].contents).toString('base64');
      const scripts = Object.entries(await import(`data:text/javascript;base64,${code}`));
      const lines = scripts.map(([name, { lua }]) => `export const ${name} = ${JSON.stringify({ lua })};`);
      return { contents: lines.join('\n'), loader: 'js' };
    });
  },
};

rmSync(TARGET, { recursive: true, force: true });
await build({
  entryPoints: {
    'distribute-lock': join(SOURCES, 'main.ts'),
    guard: join(SOURCES, 'guard/main.ts'),
    ...Object.fromEntries(APART.map((name) => [name, join(SOURCES, `commands/${name}.ts`)])),
  },
  plugins: [commandsApart, composedScripts],
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
