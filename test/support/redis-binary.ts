import { execFileSync } from 'node:child_process';
import { debianBinary, findProgram, isExecutable } from './debian-binary.js';

/** Path of the server that `REDIS_SERVER_BIN` names, or of a `redis-server` on the PATH. */
export function findRedisServer(): string | undefined {
  const given = process.env['REDIS_SERVER_BIN'] ?? '';
  if (given === '') return findProgram('redis-server');
  if (!isExecutable(given)) throw new Error(`REDIS_SERVER_BIN is "${given}", which is not an executable file.`);
  return given;
}

/** Path of a server for the tests. As root on Debian, installs `redis-server` when there is none. */
export function redisServerBinary(): string {
  return findRedisServer() ?? debianBinary('redis-server');
}

/** Name and version of the server, as in "Redis 7.0.15" or "Valkey 8.1.1". */
export function serverVersion(binary: string): string {
  const text = execFileSync(binary, ['--version'], { encoding: 'utf8' });
  const [, name = 'unknown', version = 'unknown'] = /^(\w+).*?\bv=(\S+)/.exec(text) ?? [];
  return `${name} ${version}`;
}
