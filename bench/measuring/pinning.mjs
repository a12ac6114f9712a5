import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * One core for the servers, and another one for all clients. Without pinning both sometimes share a core, and the round trip
 * of an idle connection varies by a factor of four from run to run.
 */
export const cores = findCores();

/** The command line that runs `command` on the core, or on any core when pinning is not possible. */
export function pinned(core, command, args) {
  return core === undefined ? [command, args] : ['taskset', ['-c', String(core), command, ...args]];
}

function findCores() {
  if (spawnSync('taskset', ['--version']).status !== 0) return {};
  const allowed = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  const [server, client] = allowed.split(',').flatMap((range) => {
    const [from, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
  return client === undefined ? {} : { server, client };
}
