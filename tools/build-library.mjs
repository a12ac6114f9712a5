#!/usr/bin/env node
/**
 * Builds the library: tsc compiles and checks it file by file, then each entry of `exports` becomes one file a format, as an
 * application that starts pays for every file that it has to find, read and link (measured: 100 files 50 ms, one 15 ms).
 *
 * Entries share their code through chunks, so a class is the same wherever it is imported from. Comments stay in the types,
 * where editors show them; what runs keeps its names and lines, so it can be read and stepped through without source maps.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import typescript from 'typescript';
import { COMPILED, DIST, entries, LIBRARY, ROOT } from './package/library.mjs';

/** What knows nothing of Nest. It is there once, as CommonJS, which both formats can load. */
const ENGINE = /\/\.tsc\/(keys|queue|lease|store|scripts|errors|options|runtime|events)\/|\/tslib\//;
const TSLIB = fileURLToPath(import.meta.resolve('tslib/tslib.es6.mjs'));

execFileSync(
  process.execPath,
  [join(ROOT, 'node_modules/typescript/bin/tsc'), '-b', join(LIBRARY, 'tsconfig.build.json')],
  {
    stdio: 'inherit',
  },
);
const written = new Set(['.tsc', ...(await writeCode()), ...(await writeTypes())]);
for (const name of readdirSync(DIST)) {
  // What an earlier build left: it would be published with the rest.
  if (!written.has(name)) rmSync(join(DIST, name), { recursive: true, force: true });
}

async function writeCode() {
  const bundle = await rollup({ ...inputs('.js'), plugins: [helpers(), withoutComments()] });
  const common = {
    hoistTransitiveImports: false,
    manualChunks: (id) => (ENGINE.test(id) ? 'engine' : undefined),
    minifyInternalExports: false,
    generatedCode: 'es2015',
    interop: 'auto',
    dynamicImportInCjs: false,
    exports: 'named',
  };
  const plugins = [engineOfCommonJs()];
  const files = [
    ...(await write(bundle, { ...common, plugins, format: 'es' }, '.js')),
    // `require()` for optional packages as well: Jest in CommonJS mode has no `import()`.
    ...(await write(bundle, { ...common, plugins, format: 'cjs' }, '.cjs')),
  ];
  await bundle.close();
  return files;
}

async function writeTypes() {
  const bundle = await rollup({ ...inputs('.d.ts'), plugins: [dts()] });
  const files = [
    ...(await write(bundle, { format: 'es' }, '.d.ts')),
    ...(await write(bundle, { format: 'es' }, '.d.cts')),
  ];
  await bundle.close();
  return files;
}

function inputs(suffix) {
  return {
    input: Object.fromEntries(
      entries.map(({ name, source }) => [name, join(COMPILED, source.replace(/\.ts$/, suffix))]),
    ),
    external: (id) => /^[^./]/.test(id) && id !== 'tslib',
    // Of other packages, this one alone is imported for what it does.
    treeshake: { moduleSideEffects: (id, external) => !external || id === 'reflect-metadata' },
    onwarn({ message }) {
      throw new Error(message);
    },
  };
}

async function write(bundle, options, suffix) {
  const { output } = await bundle.write({
    ...options,
    dir: DIST,
    entryFileNames: `[name]${suffix}`,
    chunkFileNames: ({ name }) =>
      name === 'engine' ? `engine${suffix}` : `shared-${name.replace(/\.d$/, '')}${suffix}`,
  });
  return output.map(({ fileName }) => fileName);
}

/**
 * ES modules import the engine through a file that has its names alone: Node finds out what a CommonJS file exports by reading
 * its text, and takes 50 ms for the engine's.
 */
function engineOfCommonJs() {
  let exported;
  return {
    name: 'engine-of-commonjs',
    renderChunk: (code) => ({ code: code.replaceAll("'./engine.js'", "'./engine-exports.cjs'"), map: null }),
    generateBundle({ format }, chunks) {
      const chunk = chunks[format === 'es' ? 'engine.js' : 'engine.cjs'];
      exported ??= chunk.exports.join();
      if (exported !== chunk.exports.join())
        throw new Error('the engine has other names as CommonJS than ES modules import');
      if (format === 'cjs') return;
      const names = chunk.exports.map((name) => `exports.${name} = engine.${name};\n`);
      const source = `'use strict';\nconst engine = require('./engine.cjs');\n${names.join('')}`;
      this.emitFile({ type: 'asset', fileName: 'engine-exports.cjs', source });
      delete chunks['engine.js'];
    },
  };
}

/** TypeScript's helpers come along, instead of as a dependency. */
function helpers() {
  return { name: 'helpers', resolveId: (id) => (id === 'tslib' ? TSLIB : undefined) };
}

function withoutComments() {
  const compilerOptions = { removeComments: true, target: 'esnext', module: 'esnext' };
  return {
    name: 'without-comments',
    transform: (code) => ({ code: typescript.transpileModule(code, { compilerOptions }).outputText, map: null }),
  };
}
