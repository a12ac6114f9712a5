import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { manifest, neededBy, ROOT } from './library.mjs';

/**
 * An application folder that has the packed library and, linked, exactly what its manifest says that it needs: nothing else resolves.
 * Asks no registry.
 */
export function install(tarball, folder) {
  const modules = join(folder, 'node_modules');
  const installed = join(modules, manifest.name);
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed]);
  for (const name of neededBy(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')))) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'dir');
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
  return folder;
}
