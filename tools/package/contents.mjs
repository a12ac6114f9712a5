import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { FULL, INDEX } from '../documents/llms.mjs';
import { coreEntries, entries, manifest } from './library.mjs';
import { packedDocuments } from './packed-documents.mjs';

/** The tarball without the documents and without the files that only optional entries need. */
export const MOST_CORE_BYTES = 157_500;
/** What the optional entries add to the tarball. */
export const MOST_OPTIONAL_BYTES = 45_000;
/** What the documents add to the tarball. */
export const MOST_DOCUMENT_BYTES = 88_000;
/** What `llms.txt` and `llms-full.txt` add: they repeat the text of the documents, so they may add as much. */
export const MOST_LLMS_BYTES = 88_000;
const LLMS = [INDEX, FULL];
const DOCUMENTS = ['CHANGELOG.md', 'LICENSE', ...packedDocuments];
/** Code and types that several entries share. */
const SHARED =
  /^dist\/(cjs\/base(\.names)?\.js|(esm|cjs)\/(part-(redis-)?\d+\.js|(shared|part-(words|engine|locks|module))\d*\.(js|d\.ts)))$/;

const filesOf = ({ files }) => files;

/** The tarball contains every file that an entry needs, and no others. */
export function contents({ files, installed }) {
  const paths = files.map(({ path }) => path);
  const needed = [...DOCUMENTS, ...LLMS, 'package.json', 'dist/cjs/package.json', ...entries.flatMap(filesOf)];
  const missing = needed.filter((path) => !paths.includes(path)).map((path) => `${path} is missing`);
  const more = paths.filter((path) => !needed.includes(path) && !SHARED.test(path));
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

/** The core, the optional entries, the documents and their copies for programs have separate bounds, so that none pays for another. */
export function size({ size: bytes, files, installed, pack }) {
  const optional = optionalFiles(files, join(installed, 'node_modules', manifest.name));
  const read = pack({ without: LLMS }).size;
  const code = pack({ without: [...LLMS, ...DOCUMENTS] }).size;
  const core = pack({ without: [...LLMS, ...DOCUMENTS, ...optional] }).size;
  const wrong = [
    ...above('the core has', core, MOST_CORE_BYTES),
    ...above('the optional entries have', code - core, MOST_OPTIONAL_BYTES),
    ...above('the documents have', read - code, MOST_DOCUMENT_BYTES),
    ...above('llms.txt and llms-full.txt have', bytes - read, MOST_LLMS_BYTES),
  ];
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  return (
    `the core has ${core} bytes, less than ${MOST_CORE_BYTES}; the optional entries add ${code - core}, ` +
    `less than ${MOST_OPTIONAL_BYTES} (${optional.join(', ') || 'none'}); the documents add ${read - code}, ` +
    `less than ${MOST_DOCUMENT_BYTES}; ${LLMS.join(' and ')} add ${bytes - read}, less than ${MOST_LLMS_BYTES}`
  );
}

const above = (what, bytes, most) =>
  bytes < most ? [] : [`${what} ${bytes} bytes in the tarball, but must have less than ${most}`];

/** The built files that no entry of the core loads, directly or by another file. */
function optionalFiles(files, folder) {
  const core = new Set(coreEntries.flatMap(filesOf));
  for (const path of core) for (const loaded of loadedBy(path, folder)) core.add(loaded);
  return files.map(({ path }) => path).filter((path) => /^dist\/.*\.(js|d\.ts)$/.test(path) && !core.has(path));
}

/** `import ... from './a.js'`, `import './a.js'`, `import('./a.js')`, `require('./a.js')`; types name `./a.js` too. */
function loadedBy(path, folder) {
  const text = readFileSync(join(folder, path), 'utf8');
  const suffix = path.endsWith('.d.ts') ? '.d.ts' : '.js';
  return [...text.matchAll(/(?:from|import|require)\b\s*\(?\s*['"](\.\.?\/[^'"]+)['"]/g)].map(([, specifier]) =>
    posix.join(posix.dirname(path), specifier.replace(/\.js$/, suffix)),
  );
}
