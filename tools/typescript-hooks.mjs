import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';
import { swcOptions, SOURCE_CONDITION } from './swc-options.mjs';

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
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), { ...swcOptions, filename, swcrc: false });
  return { format: 'module', source: code, shortCircuit: true };
}
