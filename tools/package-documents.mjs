#!/usr/bin/env node
/** README and LICENSE stand at the top of the repository; npm wants them in the folder that it packs, for as long as it packs. */
import { copyFileSync, rmSync } from 'node:fs';

const DOCUMENTS = ['README.md', 'LICENSE'];
const root = new URL('../', import.meta.url);
const folder = new URL('../libs/distribute-lock/', import.meta.url);

for (const name of DOCUMENTS) {
  if (process.argv[2] === 'bring') copyFileSync(new URL(name, root), new URL(name, folder));
  else rmSync(new URL(name, folder), { force: true });
}
