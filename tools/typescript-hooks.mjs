import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { swcOptions, SOURCE_CONDITION } from './swc-options.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Compiled files by the hash of their source: tests start hundreds of processes, which load the same files. */
const CACHE = new URL('../node_modules/.cache/typescript-loader/', import.meta.url);

/** Another version of ioredis, for child processes of tests. */
const { TEST_IOREDIS: ioredis = 'ioredis' } = process.env;

export async function resolve(specifier, context, nextResolve) {
  const source = sourceOf(specifier, context.parentURL);
  if (source !== undefined) return { url: source, format: 'module', shortCircuit: true };
  const conditions = [...new Set([SOURCE_CONDITION, ...context.conditions])];
  return nextResolve(specifier === 'ioredis' ? ioredis : specifier, { ...context, conditions });
}

/** The existing `.ts` file that an import with the suffix `.js` means. */
function sourceOf(specifier, parent) {
  if (!/^\.{1,2}\/.*\.js$/.test(specifier)) return undefined;
  const source = new URL(specifier.replace(/\.js$/, '.ts'), parent);
  return existsSync(source) ? source.href : undefined;
}

export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  return { format: 'module', source: await compiled(fileURLToPath(url)), shortCircuit: true };
}

async function compiled(filename) {
  const source = readFileSync(filename, 'utf8');
  const hash = createHash('sha256')
    .update(JSON.stringify([swcOptions, relative(ROOT, filename), source]))
    .digest('hex');
  const kept = new URL(`${hash}.js`, CACHE);
  try {
    return readFileSync(kept, 'utf8');
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
