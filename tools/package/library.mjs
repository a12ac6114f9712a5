import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SOURCE_CONDITION } from '../swc-options.mjs';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const LIBRARY = join(ROOT, 'libs/distribute-lock');
export const DIST = join(LIBRARY, 'dist');

/** The output of tsc, file by file; never published. */
export const COMPILED = join(DIST, '.tsc');

export const manifest = JSON.parse(readFileSync(join(LIBRARY, 'package.json'), 'utf8'));

/** The entries of `exports` that are code: `{ specifier: 'nestjs-distribute-lock', name: 'index', source: 'index.ts' }`. */
export const entries = Object.entries(manifest.exports).flatMap(([path, targets]) => {
  const source = targets[SOURCE_CONDITION]?.replace('./src/', '');
  if (source === undefined) return [];
  return [{ specifier: join(manifest.name, path), name: path === '.' ? 'index' : path.slice(2), source }];
});

/** The entries that every application has; any other entry is optional, and needs optional peers. */
const CORE = ['index', 'testing'];

export const coreEntries = entries.filter(({ name }) => CORE.includes(name));
export const optionalEntries = entries.filter(({ name }) => !CORE.includes(name));

/** The packages that npm installs with the library in every application. Optional peers are not included. */
export function neededBy({ dependencies, peerDependencies, peerDependenciesMeta = {} }) {
  const named = Object.keys({ ...dependencies, ...peerDependencies });
  return named.filter((name) => peerDependenciesMeta[name]?.optional !== true);
}

/** The packages that only optional entries and optional features need. */
export function optionalPeers({ peerDependenciesMeta = {} }) {
  return Object.keys(peerDependenciesMeta).filter((name) => peerDependenciesMeta[name].optional === true);
}
