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

/** The package that re-exports the locks without Nest. */
export const CLI = join(ROOT, 'libs/cli');
export const cliManifest = JSON.parse(readFileSync(join(CLI, 'package.json'), 'utf8'));

/** The name of the files of an entry: `testing-contract` for `./testing/contract`. */
const nameOf = (path) => (path === '.' ? 'index' : path.slice(2).replaceAll('/', '-'));

/** The entries of `exports` that are code: `{ specifier: 'nestjs-distribute-lock', name: 'index', source: 'index.ts', files }`. */
export const entries = Object.entries(manifest.exports).flatMap(([path, targets]) => {
  const source = targets[SOURCE_CONDITION]?.replace('./src/', '');
  if (source === undefined) return [];
  const files = Object.values(targets)
    .flatMap((target) => (typeof target === 'string' ? [] : Object.values(target)))
    .map((file) => file.replace('./', ''));
  return [{ specifier: join(manifest.name, path), name: nameOf(path), source, files }];
});

/** The entries that every application with Nest has, and the one that programs without Nest have. */
const FOR_NEST = ['index', 'testing'];
const WITHOUT_NEST = 'core';

export const nestEntries = entries.filter(({ name }) => FOR_NEST.includes(name));
export const plainEntries = entries.filter(({ name }) => name === WITHOUT_NEST);
export const coreEntries = [...nestEntries, ...plainEntries];
/** Any other entry is optional, and needs optional peers. */
export const optionalEntries = entries.filter((entry) => !coreEntries.includes(entry));

/** The peers that each application with Nest has. They are optional, so that npm does not install them in other programs. */
const NEST_PEERS = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];

/** The packages that npm installs with the library in a program without Nest. */
export function neededWithoutNest({ dependencies, peerDependencies, peerDependenciesMeta = {} }) {
  const named = Object.keys({ ...dependencies, ...peerDependencies });
  return named.filter((name) => peerDependenciesMeta[name]?.optional !== true);
}

/** The packages that the library needs in an application with Nest. */
export function neededBy(published) {
  return [...new Set([...neededWithoutNest(published), ...NEST_PEERS])];
}

/** The packages that only optional entries and optional features need. */
export function optionalPeers({ peerDependenciesMeta = {} }) {
  const optional = Object.keys(peerDependenciesMeta).filter((name) => peerDependenciesMeta[name].optional === true);
  return optional.filter((name) => !NEST_PEERS.includes(name));
}
