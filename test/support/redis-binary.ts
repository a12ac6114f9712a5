import { execFileSync, type ExecFileSyncOptions } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of a `redis-server`, or undefined when none is on the PATH. */
export function findRedisServer(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, 'redis-server')).find(isExecutable);
}

/** Path of a `redis-server`. As root on Debian, installs it when the PATH has none. */
export function redisServerBinary(): string {
  const found = findRedisServer();
  if (found !== undefined) return found;
  if (!canInstall()) throw new Error('The PATH contains no redis-server.');
  console.warn('tests: installing the Debian package redis-server, because the PATH contains no redis-server');
  installRedisServer();
  const installed = findRedisServer();
  if (installed === undefined)
    throw new Error('The Debian package redis-server is installed, but the PATH does not contain it.');
  return installed;
}

function canInstall(): boolean {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version');
}

function installRedisServer(): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }; // 1: the package starts no service
  const options = { env, stdio: ['ignore', 'ignore', 'inherit'], timeout: 180_000 } satisfies ExecFileSyncOptions;
  try {
    execFileSync('apt-get', ['update', '-qq'], options);
  } catch {
    // the existing package lists may suffice
  }
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'], options);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
