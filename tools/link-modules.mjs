import { lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Links every installed package of `root` into the copy, except the workspaces, which are those of the copy itself. */
export function linkModules(root, copy) {
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules'))) {
    const path = join('node_modules', name);
    const isWorkspace = lstatSync(join(root, path)).isSymbolicLink();
    symlinkSync(isWorkspace ? readlinkSync(join(root, path)) : join(root, path), join(copy, path));
  }
}
