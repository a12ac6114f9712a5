/** The tarball is read without the repository, so each file that its documents and types name must be inside. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { linkFaults } from '../documents/links.mjs';
import { manifest } from './library.mjs';

const DOCUMENT = /\bdocs\/[\w/-]+\.md\b/g;

/** Every relative link of a packed document, and every document that a comment of a type names, has its target in the tarball. */
export function links({ files, installed, name = manifest.name }) {
  const root = join(installed, 'node_modules', name);
  const read = (path) => readFileSync(join(root, path), 'utf8');
  const paths = files.map(({ path }) => path);
  const documents = paths.filter((path) => path.endsWith('.md'));
  const types = paths.filter((path) => path.endsWith('.d.ts'));
  const wrong = [
    ...documents.flatMap((path) => linkFaults(root, path, read(path))),
    ...types.flatMap((path) => missingDocuments(root, path, read(path))),
  ];
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  return `${documents.length} documents and ${types.length} files of types name no file that the tarball lacks`;
}

function missingDocuments(root, path, text) {
  const named = new Set(text.match(DOCUMENT));
  return [...named]
    .filter((name) => !existsSync(join(root, name)))
    .map((name) => `${path} names ${name}, which is missing`);
}
