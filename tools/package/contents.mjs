import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { entries, manifest } from './library.mjs';

const MOST_BYTES = 150_000;
const DOCUMENTS = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];
const FILES = ['esm/NAME.js', 'esm/NAME.d.ts', 'cjs/NAME.js', 'cjs/NAME.d.ts'];

/** The tarball contains every file that an entry needs, and no others. */
export function contents({ files, installed }) {
  const paths = files.map(({ path }) => path);
  const ofEntries = entries.flatMap(({ name }) => FILES.map((file) => `dist/${file.replace('NAME', name)}`));
  const needed = [...DOCUMENTS, 'dist/cjs/package.json', ...ofEntries];
  const missing = needed.filter((path) => !paths.includes(path)).map((path) => `${path} is missing`);
  // shared code of entries
  const more = paths.filter(
    (path) => !needed.includes(path) && !/^dist\/(esm|cjs)\/(part-\d+\.js|(shared|part-words)\d*\.d\.ts)$/.test(path),
  );
  const wrong = [
    ...missing,
    ...more.map((path) => `${path} does not belong to the package`),
    ...wrongManifest(installed),
  ];
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  return files.map(({ path, size: bytes }) => `${path} (${bytes})`).join(', ');
}

function wrongManifest(installed) {
  const published = JSON.parse(readFileSync(join(installed, 'node_modules', manifest.name, 'package.json'), 'utf8'));
  const { dependencies = {}, devDependencies, scripts } = published;
  const wrong = [];
  if (Object.keys(dependencies).length > 1)
    wrong.push(`depends on ${Object.keys(dependencies).join(', ')}: one at most`);
  if (devDependencies !== undefined || scripts !== undefined)
    wrong.push('package.json names development dependencies or scripts');
  return wrong;
}

export function size({ size: bytes }) {
  if (bytes >= MOST_BYTES) throw new Error(`the tarball has ${bytes} bytes, but must have less than ${MOST_BYTES}`);
  return `${bytes} bytes, less than ${MOST_BYTES}`;
}
