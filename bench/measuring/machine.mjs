import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';

import { cores } from './pinning.mjs';
import { RedisServer } from './redis-server.mjs';

/** The machine and the versions of a run, as lines of text. */
export async function machine() {
  const server = await RedisServer.start();
  const redis = await server.version();
  await server.stop();
  const [cpu] = cpus();
  const load = loadavg().map((value) => value.toFixed(1));
  return [
    `- ${cpu.model.trim()}, ${cpus().length} cores; ${Math.round(totalmem() / 2 ** 30)} GiB; ${type()} ${release()}; load when it ended ${load.join(', ')}`,
    `- Node ${process.version}, Redis ${redis} on loopback, nothing kept on disk`,
    cores.client === undefined
      ? '- not pinned: the figures of two runs cannot be compared'
      : `- servers pinned to core ${cores.server}, all client processes to core ${cores.client}`,
    ...measured().map((subject) => `- ${subject}`),
  ];
}

/** Versions as installed. */
function measured() {
  const bench = new URL('../', import.meta.url);
  const { dependencies } = readJson(new URL('package.json', bench));
  const ours = readJson(new URL('../libs/distribute-lock/package.json', bench));
  const ioredis = readJson(new URL('../node_modules/ioredis/package.json', bench));
  const others = Object.keys(dependencies).map((name) => {
    const { version } = readJson(new URL(`node_modules/${name}/package.json`, bench));
    return `${name} ${version.replace(/^v/, '')}`;
  });
  return [`${ours.name} ${ours.version}`, `ioredis ${ioredis.version}`, ...others];
}

function readJson(url) {
  return JSON.parse(readFileSync(url, 'utf8'));
}
