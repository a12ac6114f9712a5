import { execFileSync, type ExecFileSyncOptions } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of a program on the PATH. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Path of a program that a Debian package of the same name provides. As root on Debian, installs the package. */
export function debianBinary(name: string): string {
  const found = findProgram(name);
  if (found !== undefined) return found;
  if (!canInstall()) throw new Error(`The PATH contains no ${name}.`);
  console.warn(`tests: installing the Debian package ${name}, because the PATH contains no ${name}`);
  install(name);
  const installed = findProgram(name);
  if (installed === undefined)
    throw new Error(`The Debian package ${name} is installed, but the PATH does not contain it.`);
  return installed;
}

function canInstall(): boolean {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version');
}

function install(name: string): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }; // 1: the package starts no service
  const options = { env, stdio: ['ignore', 'ignore', 'inherit'], timeout: 180_000 } satisfies ExecFileSyncOptions;
  try {
    execFileSync('apt-get', ['update', '-qq'], options);
  } catch {
    // the existing package lists may suffice
  }
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', name], options);
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
