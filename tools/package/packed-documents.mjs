/**
 * The documents in the tarball. Outside the repository, pictures and links to other files of the repository lead nowhere, so
 * the documents are changed before they are packed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { llmsFull, llmsIndex, NOT_PACKED } from '../documents/llms.mjs';
import { withoutCode } from '../documents/markdown.mjs';
import { ROOT } from './library.mjs';

const COMMENT = /<!-- [\s\S]*? -->\n\n?/g;
const PICTURE = /^!\[[^\]]*\]\([^)]*\)\n\n?/gm;
const LINK = /\[([^\]]+)\]\((?![a-z]+:|#)([^)\s]+)\)/g;

const FOLDERS = ['docs/guide', 'docs/reference'];

/** The paths of the documents, the same in the repository and in the tarball. */
export const packedDocuments = [
  'README.md',
  'SECURITY.md',
  'docs/safety.md',
  ...FOLDERS.flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => posix.join(folder, name))),
].filter((path) => path.endsWith('.md') && !NOT_PACKED.includes(path));

/**
 * About as many bytes as the documents add to a tarball: `{ pages, llms }`. An archive has a header for each file, of which the compression
 * leaves about 60 bytes.
 */
export function documentBytes() {
  const textOf = (path) => packedDocument(path, readFileSync(join(ROOT, path), 'utf8'), '', undefined);
  const bytes = (texts) => gzipSync(texts.join('\n'), { level: 9 }).length + 60 * texts.length;
  return {
    pages: bytes(packedDocuments.map(textOf)),
    llms: bytes([llmsIndex(ROOT), llmsFull(ROOT, textOf)]),
  };
}

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
