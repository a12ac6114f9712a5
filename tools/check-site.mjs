#!/usr/bin/env node
/** Checks the links of the site that `vitepress build docs` wrote; prints the number of pages, links and faults. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FULL, INDEX } from './documents/llms.mjs';
import { checkSite } from './documents/site.mjs';

const site = fileURLToPath(new URL('../dist/site', import.meta.url));
const { pages, links, faults } = checkSite(site, process.env.SITE_BASE ?? '/');
for (const name of [INDEX, FULL]) if (!existsSync(join(site, name))) faults.push(`${name} is missing`);
for (const fault of faults) console.error(`site: ${fault}`);
console.log(`site: ${pages} pages, ${links} links and files, ${faults.length} faults`);
if (faults.length > 0 || pages === 0) process.exitCode = 1;
