// Prints which optional packages each entry loads, by `import` and by `require`.
import { createRequire } from 'node:module';

import { noteLoads } from './noted-loads.mjs';

const ENTRIES = ['', '/core', '/testing', '/prometheus', '/otel', '/terminus', '/dashboard', '/swagger'];

const found = noteLoads(/^(@nestjs\/swagger|@nestjs\/terminus|@opentelemetry\/api|prom-client)(\/|$)/);
const require = createRequire(import.meta.url);
const loaded = {};
for (const entry of ENTRIES) {
  for (const way of ['import', 'require']) {
    if (way === 'import') await import(`nestjs-distribute-lock${entry}`);
    else require(`nestjs-distribute-lock${entry}`);
    loaded[`${way} .${entry}`] = await found();
  }
}
console.log(JSON.stringify(loaded));
