#!/usr/bin/env node
/**
 * Creates the tarballs of both packages for the registry from the last build, and prints their paths and contents as JSON.
 * `npm run pack -- FOLDER` builds the library before. The tests do not, because each would rewrite files that others read.
 *
 * Packs a separate folder, because the documents are at the top of the repository, and the manifest names sources and tools
 * that users do not get.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FULL, INDEX, llmsFull, llmsIndex, PROGRAM_PAGES } from './documents/llms.mjs';
import { CLI, cliManifest, LIBRARY, manifest, ROOT } from './package/library.mjs';
import { packedDocument, packedDocuments, webAddress } from './package/packed-documents.mjs';
import { SOURCE_CONDITION } from './swc-options.mjs';

const UNCHANGED = ['LICENSE', 'libs/distribute-lock/CHANGELOG.md'];

/** Packs the build, except the files `without`: `{ tarball, size, files: [{ path, size }] }`, sizes in bytes. */
export function packLibrary(folder, { without = [] } = {}) {
  const stage = mkdtempSync(join(tmpdir(), 'pack-library-'));
  try {
    for (const name of UNCHANGED) cpSync(join(ROOT, name), join(stage, basename(name)));
    cpSync(join(LIBRARY, 'dist'), join(stage, 'dist'), { recursive: true });
    const published = publishedManifest(manifest, 'libs/distribute-lock');
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
    writeDocuments(stage, published, packedDocuments);
    writeFileSync(join(stage, INDEX), llmsIndex(ROOT));
    writeFileSync(
      join(stage, FULL),
      llmsFull(ROOT, (path) => readFileSync(join(stage, path), 'utf8')),
    );
    for (const path of without) rmSync(join(stage, path));
    return pack(stage, folder);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Packs the package of the program and of the locks without Nest: the same. */
export function packCli(folder) {
  const stage = mkdtempSync(join(tmpdir(), 'pack-cli-'));
  try {
    cpSync(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'));
    for (const name of [...cliManifest.files, 'README.md']) {
      if (name !== 'docs') cpSync(join(CLI, name), join(stage, name), { recursive: true });
    }
    const published = publishedManifest(cliManifest, 'libs/cli');
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
    writeDocuments(stage, published, PROGRAM_PAGES, new Set(PROGRAM_PAGES));
    return pack(stage, folder);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function pack(stage, folder) {
  mkdirSync(folder, { recursive: true });
  const npm = ['pack', stage, '--json', '--pack-destination', resolve(folder)];
  const [{ filename, size, files }] = packed(
    JSON.parse(execFileSync('npm', npm, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
  );
  return {
    tarball: join(resolve(folder), filename),
    size,
    files: files.map(({ path, size: bytes }) => ({ path, size: bytes })),
  };
}

function writeDocuments(stage, { version, repository }, documents, inside) {
  for (const path of documents) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    mkdirSync(join(stage, dirname(path)), { recursive: true });
    writeFileSync(join(stage, path), packedDocument(path, text, version, webAddress({ repository }), inside));
  }
}

/** npm 12 prints an object by package, older versions print a list. */
function packed(answer) {
  return Array.isArray(answer) ? answer : Object.values(answer);
}

function publishedManifest(given, directory) {
  const { scripts: _scripts, devDependencies: _devDependencies, ...published } = structuredClone(given);
  for (const targets of Object.values(published.exports)) delete targets[SOURCE_CONDITION];
  // A registry accepts provenance only for the repository in the manifest, whose CI publishes the package.
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
  if (GITHUB_REPOSITORY !== undefined) {
    const url = `git+${GITHUB_SERVER_URL ?? 'https://github.com'}/${GITHUB_REPOSITORY}.git`;
    published.repository ??= { type: 'git', url, directory };
  }
  return published;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder = '.'] = process.argv.slice(2);
  console.log(JSON.stringify({ ...packLibrary(folder), cli: packCli(folder) }, undefined, 2));
}
