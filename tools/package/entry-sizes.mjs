/** What each entry adds to a bundle: its own code and that of the library it loads, minified and compressed. */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { entries, LIBRARY } from './library.mjs';

/** Bytes by entry. A test or an optional entry also counts the code of the core that it loads. */
const BUDGETS = {
  index: 113_000,
  core: 97_000,
  testing: 109_000,
  'testing-contract': 61_000,
  dashboard: 24_000,
  otel: 3_600,
  prometheus: 3_200,
  swagger: 1_000,
  terminus: 11_400,
};

/** Bundles the sources, so it needs no build: `[{ name, bytes, most }]`. */
export function entrySizes() {
  return Promise.all(
    entries.map(async ({ name, source }) => ({ name, bytes: await bytesOf(source), most: BUDGETS[name] })),
  );
}

/** The messages for entries above their budget, and for entries without one. */
export function entrySizeFaults(sizes) {
  return sizes.flatMap(({ name, bytes, most }) => {
    if (most === undefined)
      return [`the entry ${name} has ${bytes} bytes, but no budget in tools/package/entry-sizes.mjs`];
    return bytes <= most ? [] : [`the entry ${name} has ${bytes} bytes, but its budget is ${most}`];
  });
}

async function bytesOf(source) {
  const { outputFiles } = await build({
    entryPoints: [join(LIBRARY, 'src', source)],
    bundle: true,
    write: false,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'silent',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true, useDefineForClassFields: false } },
  });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}
