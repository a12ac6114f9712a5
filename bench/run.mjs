/**
 * `npm run bench [-- --quick] [-- --only <workload>]`: measures this library against the bare commands and against its
 * peers. The full run writes docs/benchmarks.md. Ends with 1 when two held one lock at once, or an update was lost.
 */
import { parseArgs } from 'node:util';

import { full, quick } from './measuring/settings.mjs';
import { section } from './measuring/report.mjs';
import { WORKLOADS } from './workloads/index.mjs';

const { values } = parseArgs({ options: { quick: { type: 'boolean' }, only: { type: 'string', multiple: true } } });
const settings = values.quick ? quick : full;

const startedAt = performance.now();
const results = [];
for (const name of values.only ?? WORKLOADS) {
  const { measure } = await import(`./workloads/${name}.mjs`);
  for await (const result of measure(settings)) {
    results.push(result);
    console.log(`${section(result)}\n`);
  }
}
console.log(`${Math.round((performance.now() - startedAt) / 1_000)} s`);
process.exitCode = results.some(({ faults }) => faults?.length > 0) ? 1 : 0;
