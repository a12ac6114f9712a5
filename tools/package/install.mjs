import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { manifest, neededBy, neededWithoutNest, optionalPeers, ROOT } from './library.mjs';

/**
 * An application folder with the packed library and links to exactly the packages of its manifest, so no others resolve.
 * Optional peers are linked only with `optional`, and those of Nest not with `plain`. Uses no registry.
 */
export function install(tarball, folder, { optional = false, plain = false } = {}) {
  const modules = join(folder, 'node_modules');
  const installed = join(modules, manifest.name);
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed]);
  const published = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const needed = plain ? neededWithoutNest(published) : neededBy(published);
  for (const name of [...needed, ...(optional ? optionalPeers(published) : [])]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'dir');
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
  return folder;
}
