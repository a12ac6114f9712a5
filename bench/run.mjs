/**
 * `npm run bench [-- --quick] [-- --only <workload>]`: measures this library against the bare commands and against other
 * libraries. The full run writes docs/benchmarks.md and its plots. Exits with 1 when two holders overlapped,
 * or an update was lost.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { writePlots } from '../tools/documents/plots.mjs';
import { document } from './measuring/document.mjs';
import { behind, section } from './measuring/report.mjs';
import { full, quick } from './measuring/settings.mjs';
import { WORKLOADS } from './workloads/index.mjs';

const { values } = parseArgs({ options: { quick: { type: 'boolean' }, only: { type: 'string', multiple: true } } });
const settings = values.quick ? quick : full;
const fileOf = (name) => new URL(`workloads/${name}.mjs`, import.meta.url);
const unknown = values.only?.find((name) => !existsSync(fileOf(name)));
if (unknown !== undefined) {
  console.error(`There is no workload "${unknown}". Choose one of ${WORKLOADS.join(', ')}, layouts.`);
  process.exit(2);
}

const startedAt = performance.now();
const seconds = () => Math.round((performance.now() - startedAt) / 1_000);
const results = [];
for (const name of values.only ?? WORKLOADS) {
  const { measure } = await import(fileOf(name));
  for await (const measured of measure(settings)) {
    const result = { ...measured, workload: name };
    results.push(result);
    console.log(`${section(result)}\n`);
  }
  console.log(`(${name}: ${seconds()} s so far)\n`);
}
console.log(`## Where we are not ahead\n\n${behind(results)}\n`);

if (settings === full && values.only === undefined) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const text = await document(results, settings, Math.ceil(seconds() / 60));
  writeFileSync(`${root}/docs/benchmarks.md`, text);
  writePlots(root);
}
process.exitCode = results.some(({ faults = [] }) => faults.length > 0) ? 1 : 0;
