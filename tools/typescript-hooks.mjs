import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { swcOptions, SOURCE_CONDITION } from './swc-options.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Compiled files by the hash of their source: tests start hundreds of processes, which load the same files. */
const CACHE = new URL('../node_modules/.cache/typescript-loader/', import.meta.url);

/** Another version of ioredis, for child processes of tests. */
const { TEST_IOREDIS: ioredis = 'ioredis' } = process.env;

/** Resolves the `.js` suffix of an import to an existing `.ts` file. */
export async function resolve(specifier, context, nextResolve) {
  const conditions = [...new Set([SOURCE_CONDITION, ...context.conditions])];
  const withSource = { ...context, conditions };
  try {
    return await nextResolve(specifier === 'ioredis' ? ioredis : specifier, withSource);
  } catch (error) {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !/^\.{1,2}\/.*\.js$/.test(specifier)) throw error;
    return nextResolve(specifier.replace(/\.js$/, '.ts'), withSource);
  }
}

export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  return { format: 'module', source: await compiled(fileURLToPath(url)), shortCircuit: true };
}

async function compiled(filename) {
  const source = await readFile(filename, 'utf8');
  const hash = createHash('sha256')
    .update(JSON.stringify([swcOptions, relative(ROOT, filename), source]))
    .digest('hex');
  const kept = new URL(`${hash}.js`, CACHE);
  try {
    return await readFile(kept, 'utf8');
  } catch {
    // Not compiled yet.
  }
  const { transform } = await import('@swc/core');
  const { code } = await transform(source, { ...swcOptions, filename, swcrc: false });
  await keep(kept, code);
  return code;
}

/** Another process may write the same file: a rename leaves one of them whole. */
async function keep(file, code) {
  const part = new URL(`${file.href}.${process.pid}`);
  await mkdir(CACHE, { recursive: true });
  await writeFile(part, code);
  await rename(part, file);
}
