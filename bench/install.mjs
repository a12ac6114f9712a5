/** Installs the measured libraries, unless they match the lockfile. */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';

const here = (path) => new URL(path, import.meta.url);
const installed = here('node_modules/.package-lock.json');

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(here('package-lock.json')).mtimeMs) {
  const { status } = spawnSync('npm', ['ci', '--loglevel', 'error'], { cwd: here('.'), stdio: 'inherit', shell: true });
  process.exitCode = status ?? 1;
}
