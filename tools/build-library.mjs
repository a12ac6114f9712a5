#!/usr/bin/env node
/**
 * Builds the library. tsc compiles and checks it file by file, and rollup bundles the result into few files per format. A
 * starting application pays for every file that it finds, reads and links (measured: 100 files 50 ms, 15 files below 20 ms).
 *
 * Entries share their code, so a class is identical in every entry. Comments stay in the types, where editors show them.
 * Classes, methods and exported functions keep their names, which stacks and messages contain; other names are short.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { minify } from 'terser';
import { commonJs } from './package/common-js.mjs';
import { COMPILED, DIST, entries, LIBRARY, manifest, nestEntries, ROOT } from './package/library.mjs';

/**
 * The file of the modules that load no peer. Both formats use it, so a class of it is identical for `import` and `require`.
 * It is CommonJS, which loads in half the time of an ES module, and which Jest loads in both modes.
 *
 * Modules that load a peer exist in both formats: Nest 12 is ESM, and bundlers that make ES modules cannot require a peer.
 */
const BASE = 'base.js';
const NAME_OF_BASE = /['"]\.\/base\.js['"]/g;
const PEERS = Object.keys(manifest.peerDependencies);
/** The peers of an application with Nest, which are optional for programs without it. */
const OF_NEST = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];
/** The peers that an application without Nest lacks, so that its entry must not load a file with one of them. */
const NOT_IN_CORE = PEERS.filter((name) => name !== 'ioredis');
/**
 * Names the exports of that file for `import`. Node searches a CommonJS file for its exports before it runs it, which takes
 * 50 ms for a large file and nothing for this one. npm packs this file directly after `base.js`, whose last line exports the same
 * names. So gzip stores them once.
 */
const BASE_NAMES = 'base.names.js';
/**
 * The entry without Nest, for `import` in Node: the names of its CommonJS. Node searches an imported CommonJS package for its exports,
 * which takes longer for ioredis than to run it. Bundlers take the ES module.
 */
const CORE_FOR_NODE = 'core-node.js';
/**
 * Bytes of code in one file of both formats. npm puts files of the same name next to each other into the tarball
 * (esm/part-3.js after cjs/part-3.js), and gzip looks back 32 KiB. So the second of two files of this size costs almost
 * nothing. The bound leaves 1 KiB for the header and the padding that tar adds to a file.
 */
const PART_BYTES = 31700;
/** Parts of optional entries that would be larger than the window of gzip, in separate files. */
const APART = [
  [/[\\/]assets[\\/]generated[\\/]page\.js$/, 'page'],
  [/[\\/]assets[\\/]generated[\\/]timeline\.js$/, 'timeline'],
  [/[\\/]dashboard[\\/](board|recorder|summary|page-view)\.js$/, 'board'],
];
/**
 * Says what to install when an application without an optional peer loads the main entry. For `import`, Node names the absent package
 * before any code runs. The calls are literal, for bundlers.
 */
const WITHOUT_NEST = `try {
${OF_NEST.map((name) => `  require('${name}');`).join('\n')}
} catch (cause) {
  if (!/MODULE_NOT_FOUND$/.test(cause.code)) throw cause;
  const absent = cause.message.split('\\n')[0];
  const text = 'nestjs-distribute-lock needs Nest: npm install ${OF_NEST.join(' ')}. Without Nest, load nestjs-distribute-lock/core. ' + absent;
  throw Object.assign(new Error(text, { cause }), { code: cause.code });
}
`;
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
await import('./build-program.mjs');

/** Removes files of an earlier build, which would be published otherwise. */
function removeOthers(folder) {
  for (const name of readdirSync(join(DIST, folder))) {
    const path = join(folder, name);
    if (!written.has(path) && !['.tsc', 'esm', 'cjs'].includes(path))
      rmSync(join(DIST, path), { recursive: true, force: true });
  }
}

async function writeCode() {
  const bundle = await rollup({ ...inputs('.js'), plugins: [helpers(), withoutSpaces(), marker()] });
  const common = {
    hoistTransitiveImports: false,
    manualChunks: parts(),
    minifyInternalExports: false,
    generatedCode: 'es2015',
    interop: 'auto',
    dynamicImportInCjs: false,
    exports: 'named',
  };
  const esm = await write(bundle, { ...common, format: 'es' }, 'esm', '.js');
  // The entries, whose names Node and bundlers must find.
  const cjs = await write(bundle, { ...common, format: 'cjs' }, 'cjs', '.js');
  for (const { fileName, isEntry, code } of esm) {
    if (isEntry === false) writeFileSync(join(DIST, 'cjs', fileName), commonJs(code));
    writeFileSync(join(DIST, 'esm', fileName), code.replaceAll(NAME_OF_BASE, `'../cjs/${BASE_NAMES}'`));
  }
  const core = cjs.find(({ fileName }) => fileName === 'core.js');
  writeFileSync(join(DIST, 'esm', CORE_FOR_NODE), namesForNode(core));
  const main = cjs.find(({ fileName }) => fileName === 'index.js');
  writeFileSync(
    join(DIST, 'cjs', main.fileName),
    main.code.replace(/^(['"])use strict\1;/, `'use strict';\n\n${WITHOUT_NEST}`),
  );
  const base = esm.find(({ fileName }) => fileName === BASE);
  writeFileSync(join(DIST, 'cjs', BASE_NAMES), namesOf(base));
  await bundle.close();
  const files = [...pathsOf('esm', esm), ...pathsOf('cjs', cjs), join('cjs', BASE_NAMES), join('esm', CORE_FOR_NODE)];
  return files.filter((path) => path !== join('esm', BASE));
}

/** Node finds each name of the chain, and does not search the other file, which no `module.exports` names. */
function namesOf({ fileName, exports }) {
  const names = exports.map((name) => `exports.${name} =`);
  return ["'use strict';", '', ...names, '  undefined;', `Object.assign(exports, require('./${fileName}'));`, ''].join(
    '\n',
  );
}

function namesForNode({ fileName, exports }) {
  const names = exports.map((name) => `export const ${name} = core.${name};`);
  const load = `const core = createRequire(import.meta.url)('../cjs/${fileName}');`;
  return ["import { createRequire } from 'node:module';", '', load, '', ...names, ''].join('\n');
}

async function writeTypes() {
  const bundle = await rollup({ ...inputs('.d.ts'), plugins: [dts()] });
  // Parts, so that each file is smaller than the window of gzip.
  const manualChunks = (id) => {
    if (/[\\/](errors|events|options|keys)([\\/]|\.d\.ts$)/.test(id)) return 'part-words';
    if (/[\\/](engine|store)[\\/]/.test(id)) return 'part-engine';
    // The types without Nest name no package of Nest.
    if (/[\\/]locks[\\/]/.test(id)) return 'part-locks';
    return /[\\/]nest[\\/]module[\\/]/.test(id) ? 'part-module' : undefined;
  };
  const options = { format: 'es', manualChunks, hoistTransitiveImports: false };
  const files = [
    ...pathsOf('esm', await write(bundle, options, 'esm', '.d.ts')),
    ...pathsOf('cjs', await write(bundle, options, 'cjs', '.d.ts')),
  ];
  await bundle.close();
  return files;
}

function inputs(suffix) {
  return {
    input: Object.fromEntries(entries.map(({ name, source }) => [name, compiled(source, suffix)])),
    external: (id) => /^[^./]/.test(id) && id !== 'tslib',
    // Only this package is imported for its side effects.
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
    chunkFileNames: ({ name }) => `${/^(base$|part-)/.test(name) ? name : 'shared'}${suffix}`,
  });
  return output;
}

function pathsOf(folder, output) {
  return output.map(({ fileName }) => join(folder, fileName));
}

/**
 * Splits the modules of the main entry, in the order in which they run: into the file for both formats, into parts that load
 * ioredis alone, and into parts that load Nest. A module runs after its imports, so parts import only earlier parts. Modules that
 * only the testing entry needs are in separate parts.
 *
 * Modules that only optional entries need are in no part: the bundler places each beside exactly the entries that need it, so
 * that no other entry loads it or its packages.
 */
function parts() {
  const partOf = new Map();
  const groups = ['part-redis-', 'part-'].map((prefix) => ({ prefix, bytes: 0, count: 0 }));
  const place = (id, getModuleInfo, once) => {
    const module = getModuleInfo(id);
    if (module.isExternal || partOf.has(id)) return;
    partOf.set(id, undefined);
    for (const imported of module.importedIds) place(imported, getModuleInfo, once);
    if (module.isEntry) return;
    if (once && !loads(PEERS, id, getModuleInfo)) {
      partOf.set(id, 'base');
      return;
    }
    const group = groups[loads(NOT_IN_CORE, id, getModuleInfo) ? 1 : 0];
    if (group.count === 0 || group.bytes + module.code.length > PART_BYTES)
      [group.count, group.bytes] = [group.count + 1, 0];
    group.bytes += module.code.length;
    partOf.set(id, `${group.prefix}${group.count}`);
  };
  return (id, { getModuleInfo }) => {
    const apart = APART.find(([pattern]) => pattern.test(id));
    if (apart !== undefined) return apart[1];
    if (partOf.size > 0) return partOf.get(id);
    for (const { name, source } of nestEntries) {
      place(compiled(source, '.js'), getModuleInfo, name === 'index');
      for (const group of groups) group.bytes = Infinity;
    }
    return partOf.get(id);
  };
}

/** Whether the module imports one of these packages, directly or by another module. */
function loads(names, id, getModuleInfo, seen = new Set()) {
  if (names.some((name) => id === name || id.startsWith(`${name}/`))) return true;
  if (seen.has(id)) return false;
  seen.add(id);
  return getModuleInfo(id).importedIds.some((imported) => loads(names, imported, getModuleInfo, seen));
}

/**
 * Marks these files as CommonJS for Node, and repeats the settings of the other manifest for bundlers, which read the
 * nearest.
 */
function marker() {
  const source = `${JSON.stringify({ type: 'commonjs', sideEffects: manifest.sideEffects })}\n`;
  return {
    name: 'marker',
    generateBundle({ format }) {
      if (format === 'cjs') this.emitFile({ type: 'asset', fileName: 'package.json', source });
    },
  };
}

/** Bundles the helpers of TypeScript, instead of a dependency. */
function helpers() {
  return { name: 'helpers', resolveId: (id) => (id === 'tslib' ? TSLIB : undefined) };
}

/**
 * Makes files smaller. Names of classes, methods and exports stay, which stack traces contain. No option changes what code does.
 * Modules are made smaller first, so that the parts get their sizes by them.
 */
function withoutSpaces() {
  const settings = {
    ecma: 2022,
    keep_classnames: true,
    compress: { passes: 3, directives: false },
    format: { comments: false, max_line_len: 8_000, quote_style: 1 },
  };
  const smaller = async (code, more) => ({ code: (await minify(code, { ...settings, ...more })).code, map: null });
  return {
    name: 'without-spaces',
    transform: (code) => smaller(code, { module: true, toplevel: false }),
    renderChunk: (code, _, { format }, { chunks }) => {
      const exported = Object.values(chunks).flatMap(({ isEntry, exports }) => (isEntry ? exports : []));
      const kept = new RegExp(`^(?:${exported.join('|')})$`);
      return smaller(code, {
        module: format === 'es',
        toplevel: true,
        keep_fnames: kept,
        mangle: { reserved: exported },
      });
    },
  };
}
