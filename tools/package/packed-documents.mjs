/**
 * The documents in the tarball. Outside the repository, pictures and links to other files of the repository lead nowhere, so
 * the documents are changed before they are packed.
 */
import { readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { withoutCode } from '../documents/markdown.mjs';
import { ROOT } from './library.mjs';

const COMMENT = /<!-- [\s\S]*? -->\n\n?/g;
const PICTURE = /^!\[[^\]]*\]\([^)]*\)\n\n?/gm;
const LINK = /\[([^\]]+)\]\((?![a-z]+:|#)([^)\s]+)\)/g;

const FOLDERS = ['docs/guide', 'docs/reference'];
/** Pages for contributors. */
const FOR_CONTRIBUTORS = ['docs/reference/demo.md', 'docs/reference/measures.md'];
/** Pages about the program, which are in its package. */
export const programDocuments = ['docs/guide/shell.md', 'docs/reference/command-line.md', 'docs/reference/doctor.md'];
const LEFT_OUT = [...FOR_CONTRIBUTORS, ...programDocuments];

/** The paths of the documents, the same in the repository and in the tarball. */
export const packedDocuments = [
  'README.md',
  'SECURITY.md',
  'docs/safety.md',
  ...FOLDERS.flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => posix.join(folder, name))),
].filter((path) => path.endsWith('.md') && !LEFT_OUT.includes(path));

const INSIDE = new Set([...packedDocuments, 'CHANGELOG.md', 'LICENSE']);

/**
 * The document as it is packed, without pictures. Links to packed files stay. Other links to files of the repository become
 * absolute, or plain text while the address of the repository is not known.
 *
 * With the address, the links of the README become absolute, because the registry shows it alone. The exception is the
 * changelog, which is in the folder that the manifest names.
 * @param path - the document in the repository
 * @param repository - the address of the repository, such as `https://github.com/owner/name`
 * @param inside - the documents of the same tarball
 */
export function packedDocument(path, text, version, repository, inside = INSIDE) {
  const plain = text.replace(COMMENT, '').replace(PICTURE, '');
  const prose = withoutCode(plain);
  let packed = '';
  let end = 0;
  for (const {
    0: { length },
    index,
  } of prose.matchAll(LINK)) {
    packed += plain.slice(end, index) + plain.slice(index, (end = index + length)).replace(LINK, packedLink);
  }
  return packed + plain.slice(end);

  function packedLink(link, shown, target) {
    const [file, anchor] = target.split('#');
    const source = posix.join(posix.dirname(path), file);
    const alone = path === 'README.md' && repository !== undefined && source !== 'CHANGELOG.md';
    if (!alone && inside.has(source)) return link;
    if (repository === undefined) return shown;
    return `[${shown}](${repository}/blob/v${version}/${source}${anchor === undefined ? '' : `#${anchor}`})`;
  }
}

/** The web address in `repository` of a manifest. */
export function webAddress(manifest) {
  return manifest.repository?.url.replace(/^git\+/, '').replace(/\.git$/, '');
}
