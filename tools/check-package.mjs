#!/usr/bin/env node
/**
 * `npm run check:package [-- GATE...]`: builds and packs the library once, and checks the tarball with all gates, or with the
 * named ones. Prints the finding of each gate; exits with 1 when one fails.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packCli, packLibrary } from './pack-library.mjs';
import { api } from './package/api.mjs';
import { audit } from './package/audit.mjs';
import { cli } from './package/cli.mjs';
import { contents, size } from './package/contents.mjs';
import { install } from './package/install.mjs';
import { links } from './package/links.mjs';
import { lint, types } from './package/lint.mjs';
import { load } from './package/load.mjs';
import { loadCore } from './package/load-core.mjs';
import { modules } from './package/modules.mjs';
import { publish } from './package/publish.mjs';

const gates = { api, publint: lint, types, contents, links, size, modules, load, loadCore, publish, audit, cli };
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(gates, name));
if (unknown.length > 0)
  throw new Error(`no gate is called ${unknown.join(', ')}; there are ${Object.keys(gates).join(', ')}`);

const folder = mkdtempSync(join(tmpdir(), 'check-package-'));
try {
  // The audit reads the lock file only.
  const context = wanted.join() === 'audit' ? {} : await built();
  for (const [name, gate] of Object.entries(gates)) {
    if (wanted.length === 0 || wanted.includes(name)) await pass(name, () => gate(context));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function built() {
  await import('./build-library.mjs');
  const packed = packLibrary(folder);
  return {
    ...packed,
    installed: install(packed.tarball, join(folder, 'application')),
    plain: install(packed.tarball, join(folder, 'plain'), { plain: true }),
    complete: install(packed.tarball, join(folder, 'complete'), { optional: true }),
    folder,
    pack: (options) => packLibrary(join(folder, 'other'), options),
    packCli: () => packCli(folder),
  };
}

/** A gate returns its finding, or throws the fault. */
async function pass(name, gate) {
  try {
    console.log(`ok      ${name}: ${await gate()}`);
  } catch (error) {
    console.error(`FAILED  ${name}: ${error.message}`);
    process.exitCode = 1;
  }
}
