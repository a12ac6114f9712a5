#!/usr/bin/env node
/**
 * Builds the library: tsc compiles and checks it file by file; of that, few files are made for each format, as an application
 * that starts pays for every file that it has to find, read and link (measured: 100 files 50 ms, 15 files below 20 ms).
 *
 * Entries share their code, so a class is the same wherever it is imported from. Comments stay in the types, where editors show
 * them; what runs keeps its names and lines, so it can be read and stepped through without source maps.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import typescript from 'typescript';
import { COMPILED, DIST, entries, LIBRARY, manifest, ROOT } from './package/library.mjs';

/**
 * Bytes of code in one file. npm puts files of the same name side by side into the tarball (esm/part-3.js behind cjs/part-3.js), and
 * gzip looks back 32 KiB: so of two files of this size the second costs next to nothing.
 */
const PART_BYTES = 32400;
/** Fewer files start faster, and what they share need not be linked; the first one is as large as the bound of the tarball allows. */
const FIRST_PART_BYTES = 92000;
const TSLIB = fileURLToPath(import.meta.resolve('tslib/tslib.es6.mjs'));

execFileSync(
  process.execPath,
  [join(ROOT, 'node_modules/typescript/bin/tsc'), '-b', join(LIBRARY, 'tsconfig.build.json')],
  {
    stdio: 'inherit',
  },
);
const written = new Set([...(await writeCode()), ...(await writeTypes())]);
for (const folder of ['.', 'esm', 'cjs']) removeOthers(folder);

/** What an earlier build left would be published with the rest. */
function removeOthers(folder) {
  for (const name of readdirSync(join(DIST, folder))) {
    const path = join(folder, name);
    if (!written.has(path) && !['.tsc', 'esm', 'cjs'].includes(path))
      rmSync(join(DIST, path), { recursive: true, force: true });
  }
}

async function writeCode() {
  const bundle = await rollup({ ...inputs('.js'), plugins: [helpers(), withoutComments(), marker()] });
  const common = {
    hoistTransitiveImports: false,
    manualChunks: parts(),
    minifyInternalExports: false,
    generatedCode: 'es2015',
    interop: 'auto',
    dynamicImportInCjs: false,
    exports: 'named',
  };
  const files = [
    ...(await write(bundle, { ...common, format: 'es' }, 'esm', '.js')),
    // `require()` for optional packages as well: Jest in CommonJS mode has no `import()`.
    ...(await write(bundle, { ...common, format: 'cjs' }, 'cjs', '.js')),
  ];
  await bundle.close();
  return files;
}

async function writeTypes() {
  const bundle = await rollup({ ...inputs('.d.ts'), plugins: [dts()] });
  // In two parts, so that each is smaller than what gzip looks back.
  const manualChunks = (id) =>
    /[\\/](errors|events|options|keys)([\\/]|\.d\.ts$)/.test(id) ? 'part-words' : undefined;
  const files = [
    ...(await write(bundle, { format: 'es', manualChunks }, 'esm', '.d.ts')),
    ...(await write(bundle, { format: 'es', manualChunks }, 'cjs', '.d.ts')),
  ];
  await bundle.close();
  return files;
}

function inputs(suffix) {
  return {
    input: Object.fromEntries(entries.map(({ name, source }) => [name, compiled(source, suffix)])),
    external: (id) => /^[^./]/.test(id) && id !== 'tslib',
    // Of other packages, this one alone is imported for what it does.
    treeshake: { moduleSideEffects: (id, external) => !external || id === 'reflect-metadata' },
    onwarn({ message }) {
      throw new Error(message);
    },
  };
}

function compiled(source, suffix) {
  return join(COMPILED, source.replace(/\.ts$/, suffix));
}

async function write(bundle, options, folder, suffix) {
  const { output } = await bundle.write({
    ...options,
    dir: join(DIST, folder),
    entryFileNames: `[name]${suffix}`,
    chunkFileNames: ({ name }) => `${name.startsWith('part-') ? name : 'shared'}${suffix}`,
  });
  return output.map(({ fileName }) => join(folder, fileName));
}

/**
 * Cuts the modules, in the order in which they run, into parts. What a module imports has run before it, so parts import earlier
 * parts only; what a further entry alone needs stands in parts of its own.
 */
function parts() {
  const partOf = new Map();
  let bytes = 0;
  let count = 0;
  const place = (id, getModuleInfo) => {
    const module = getModuleInfo(id);
    if (module.isExternal || partOf.has(id)) return;
    partOf.set(id, undefined);
    for (const imported of module.importedIds) place(imported, getModuleInfo);
    if (module.isEntry) return;
    const most = count === 1 ? FIRST_PART_BYTES : PART_BYTES;
    if (count === 0 || bytes + module.code.length > most) [count, bytes] = [count + 1, 0];
    bytes += module.code.length;
    partOf.set(id, `part-${count}`);
  };
  return (id, { getModuleInfo }) => {
    if (partOf.size > 0) return partOf.get(id);
    for (const { source } of entries) {
      place(compiled(source, '.js'), getModuleInfo);
      bytes = Infinity;
    }
    return partOf.get(id);
  };
}

/** Tells Node that these files are CommonJS, and bundlers, which look at the nearest manifest, what the other one tells them. */
function marker() {
  const source = `${JSON.stringify({ type: 'commonjs', sideEffects: manifest.sideEffects })}\n`;
  return {
    name: 'marker',
    generateBundle({ format }) {
      if (format === 'cjs') this.emitFile({ type: 'asset', fileName: 'package.json', source });
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
    transform: (code, id) => {
      const { outputText } = typescript.transpileModule(code, { compilerOptions });
      return { code: /[\\/]scripts[\\/]generated[\\/]/.test(id) ? outputText : withTabs(outputText), map: null };
    },
  };
}

/** Fewer bytes to read and to publish. The texts of Lua scripts, which Redis knows by their hash, stay as they are. */
function withTabs(code) {
  return code.replace(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4));
}
