#!/usr/bin/env node
/**
 * What the release workflow does before it calls a registry: `npm run release:check -- FOLDER` checks the tarballs that `npm run pack --
 * FOLDER` wrote. It writes a bill of materials for each and the file of checksums beside them, and stages both as a dry run.
 * Publishes nothing. npm older than 11.15 has no staging; then it dry runs a plain publication.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cliManifest, manifest } from '../package/library.mjs';
import { dryRun } from '../package/publish.mjs';
import { manifestIn, sbomFaults, sbomOf } from './sbom.mjs';

const [folder = 'out'] = process.argv.slice(2);
const tarballs = readdirSync(folder)
  .filter((name) => name.endsWith('.tgz'))
  .map((name) => join(folder, name));
const packed = new Map(tarballs.map((tarball) => [manifestIn(tarball).name, tarball]));
const names = [manifest.name, cliManifest.name];
const missing = names.filter((name) => !packed.has(name));
if (missing.length > 0 || packed.size !== names.length)
  throw new Error(
    `${folder} must contain one tarball of ${names.join(' and one of ')}, but has ${tarballs.join(', ') || 'none'}`,
  );

const [major, minor] = execFileSync('npm', ['--version'], { encoding: 'utf8' }).split('.').map(Number);
const stages = major > 11 || (major === 11 && minor >= 15);
const sums = [];
for (const [name, tarball] of packed) {
  const published = manifestIn(tarball);
  const bill = sbomOf(name, packed);
  for (const fault of sbomFaults(bill, published)) report(`the bill of ${name} ${fault}`);
  const file = `${name}-${published.version}.cdx.json`;
  writeFileSync(join(folder, file), `${JSON.stringify(bill, undefined, 2)}\n`);
  sums.push(`${createHash('sha256').update(readFileSync(tarball)).digest('hex')}  ${basename(tarball)}`);
  if (published.repository === undefined)
    console.log(`${name}: no repository, so a registry would refuse its provenance`);
  const { id, files } = await dryRun(tarball, stages ? ['stage', 'publish'] : ['publish']);
  console.log(
    `${name}: ${bill.components.length} packages in ${file}; npm would ${stages ? 'stage' : 'publish'} ${id} with ${files.length} files`,
  );
}
writeFileSync(join(folder, 'SHA256SUMS'), `${sums.join('\n')}\n`);

function report(fault) {
  console.error(`release: ${fault}`);
  process.exitCode = 1;
}
