#!/usr/bin/env node
/**
 * Measures the library at scale: `npm run test:scale [-- part ...] [-- --quick]`. The parts are `one-key`, `many-keys`, `cluster-bus` and
 * `hot-key`. Prints Markdown, and exits with 1 if a bound is not reached. `--quick` measures a tenth.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';

import { runCleanups } from '../support/cleanup.js';
import { redisServerBinary, serverVersion } from '../support/redis-binary.js';
import { clusterBus } from './cluster-bus.js';
import { hotKey } from './hot-key.js';
import { manyKeys } from './many-keys.js';
import { oneKey } from './one-key.js';
import { isReached, render, type Section } from './support/report.js';

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const share = values.quick ? 0.1 : 1;

const PARTS: Readonly<Record<string, () => AsyncGenerator<Section>>> = {
  async *'one-key'() {
    yield await oneKey({ processes: 50 * share, waiters: 100_000 * share, restMs: values.quick ? 10_000 : 30_000 });
  },
  async *'many-keys'() {
    const size = { processes: 50 * share, each: 10, restMs: 10_000 };
    yield await manyKeys({ ...size, keys: 100_000 * share, where: 'same' });
    yield await manyKeys({ ...size, keys: 10_000 * share, where: 'another' });
    yield await manyKeys({ ...size, keys: 100_000 * share, where: 'another' });
  },
  async *'cluster-bus'() {
    const masters = values.quick ? [6] : [6, 12, 30];
    const clusters = masters.map((count) => ({ masters: count, replicasEach: 0 }));
    yield await clusterBus({ clusters: [...clusters, { masters: 6, replicasEach: 1 }], forMs: 10_000 * share });
  },
  async *'hot-key'() {
    const rows = [
      { processes: 10, applications: 1 },
      { processes: 100 * share, applications: 1 },
      { processes: 20 * share, applications: 50 },
    ];
    yield await hotKey({
      rows: values.quick ? rows.slice(0, 1) : rows,
      simulated: [10, 100, 1_000],
      forMs: 10_000 * share,
    });
  },
};

const unknown = positionals.filter((name) => !(name in PARTS));
if (unknown.length > 0)
  throw new Error(`No part is called ${unknown.join(', ')}. Parts: ${Object.keys(PARTS).join(', ')}.`);
console.log(`${cpus().length} cores, Node ${process.version}, ${serverVersion(redisServerBinary())}\n`);
try {
  for (const name of positionals.length > 0 ? positionals : Object.keys(PARTS)) {
    for await (const section of PARTS[name]()) {
      console.log(`${render(section)}\n`);
      if (!section.bounds.every(isReached)) process.exitCode = 1;
    }
  }
} finally {
  await runCleanups();
}
