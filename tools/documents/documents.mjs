/** The documents of a repository: at its top, below docs, and beside its applications. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDERS = ['docs', 'apps', 'bench'];
const SKIPPED = new Set(['node_modules', 'dist']);

/** The entries of a change log show the code of their time. */
export const isHistory = (name) => name.endsWith('CHANGELOG.md');

/** Names and texts, sorted by name. */
export function readDocuments(root) {
  const names = [...namesIn(root, '', false), ...FOLDERS.flatMap((folder) => namesIn(root, folder, true))];
  return names
    .toSorted((one, other) => one.localeCompare(other))
    .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8').replaceAll('\r\n', '\n') }));
}

function namesIn(root, folder, deep) {
  return entriesOf(join(root, folder)).flatMap((entry) => {
    const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isFile()) return entry.name.endsWith('.md') ? [name] : [];
    return deep && entry.isDirectory() && !SKIPPED.has(entry.name) ? namesIn(root, name, true) : [];
  });
}

function entriesOf(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
