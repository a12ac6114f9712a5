/** The software bill of materials of a tarball, in the format CycloneDX, written by `npm sbom`. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../package/library.mjs';

/**
 * Lists the package and every package that npm installs with it. The bill of the application lists the peers.
 * @param packed - the tarballs, by the name of their package
 */
export function sbomOf(name, packed) {
  const folder = mkdtempSync(join(tmpdir(), 'sbom-'));
  try {
    const { peerDependencies: _peers, peerDependenciesMeta: _meta, ...manifest } = manifestIn(packed.get(name));
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    const found = new Map();
    for (const dependency of Object.keys(manifest.dependencies ?? {})) collect(dependency, packed, found);
    for (const [dependency, text] of found) {
      const installed = join(folder, 'node_modules', dependency);
      mkdirSync(installed, { recursive: true });
      writeFileSync(join(installed, 'package.json'), text);
    }
    const npm = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'library', '--omit', 'dev', '--omit', 'peer'];
    const bill = execFileSync('npm', npm, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    return JSON.parse(bill);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The messages for a bill that lacks the package, its version or a dependency. */
export function sbomFaults(bill, { name, version, dependencies = {} }) {
  const { component } = bill.metadata ?? {};
  const listed = new Set(bill.components?.map((each) => each.name));
  return [
    ...(bill.bomFormat === 'CycloneDX' ? [] : [`is no CycloneDX, but ${bill.bomFormat}`]),
    ...(component?.purl === `pkg:npm/${name}@${version}`
      ? []
      : [`is of ${component?.purl}, not of ${name}@${version}`]),
    ...Object.keys(dependencies).flatMap((each) => (listed.has(each) ? [] : [`does not list ${each}`])),
  ];
}

/** The manifest in a tarball. */
export function manifestIn(tarball) {
  return JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }));
}

function collect(name, packed, found, from = join(ROOT, 'package.json')) {
  if (found.has(name)) return;
  const own = packed.get(name);
  const path = own === undefined ? pathOf(name, from) : undefined;
  const { peerDependencies: _peers, ...manifest } =
    own === undefined ? JSON.parse(readFileSync(path, 'utf8')) : manifestIn(own);
  found.set(name, JSON.stringify(manifest));
  for (const dependency of Object.keys(manifest.dependencies ?? {})) collect(dependency, packed, found, path);
}

/** The manifest of an installed package, also if its `exports` hide it. */
function pathOf(name, from) {
  for (const folder of createRequire(from).resolve.paths(name) ?? []) {
    const path = join(folder, name, 'package.json');
    try {
      readFileSync(path);
      return path;
    } catch {
      // a folder above it may have the package
    }
  }
  throw new Error(`${name} is not installed beside ${dirname(from)}`);
}
