/**
 * The documents for programs that read text: `llms.txt` lists the pages with a sentence each, and `llms-full.txt` contains their text.
 * Both are written from the documents. `llms.txt` is in the repository; `llms-full.txt` is in the tarball and on the site only.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix, join } from 'node:path';
import { linksOf } from './markdown.mjs';

export const INDEX = 'llms.txt';
export const FULL = 'llms-full.txt';

const GUIDE = 'docs/guide';
/** Tables that a reader looks something up in, and pages for contributors. They follow the pages to read. */
export const APPENDICES = [
  'docs/reference/options.md',
  'docs/reference/compatibility.md',
  'docs/reference/measures.md',
];
/** Pages about the program, which are in its tarball. */
export const PROGRAM_PAGES = ['docs/guide/shell.md', 'docs/reference/command-line.md', 'docs/reference/doctor.md'];
/** Pages that the tarball of the library does not contain: those of the program, for contributors, lists of tests, and what a reader needs before the installation. */
export const NOT_PACKED = [
  ...PROGRAM_PAGES,
  'docs/reference/comparison.md',
  'docs/reference/compatibility.md',
  'docs/reference/demo.md',
  'docs/reference/measures.md',
];
/** The first sentence of a page ends here. */
const SENTENCE = /^(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|[^`[])*?[.:](?=\s|$)/;

/** The text of `llms.txt`. `address` maps the path of a document to the target of its link. */
export function llmsIndex(root, address = (path) => path) {
  const { description } = JSON.parse(readFileSync(join(root, 'libs/distribute-lock/package.json'), 'utf8'));
  const lines = (paths) =>
    paths.map((path) => `- [${titleOf(root, path)}](${address(path)}): ${sentenceOf(root, path)}`);
  const { start, guide, reference, appendices } = llmsPages(root);
  return [
    '# nestjs-distribute-lock',
    '',
    `> ${description}`,
    '',
    `Paths are those of the npm package \`nestjs-distribute-lock\`. \`${FULL}\` beside this file contains the text of all pages but the optional ones.`,
    '',
    ...['## Start', '', ...lines(start), ''],
    ...['## Guide', '', ...lines(guide), ''],
    ...['## Reference', '', ...lines(reference), ''],
    ...['## Optional', '', ...lines(appendices), ''],
  ].join('\n');
}

/**
 * The text of `llms-full.txt`: every page once, in the order of `llms.txt`, each behind a line with its path.
 * @param textOf - the text of a document, by its path
 */
export function llmsFull(root, textOf = (path) => readFileSync(join(root, path), 'utf8')) {
  const { start, guide, reference } = llmsPages(root);
  return [...start, ...guide, ...reference].map((path) => `<!-- ${path} -->\n\n${textOf(path).trim()}\n`).join('\n');
}

/** The pages by part, in the order in which they are read. */
export function llmsPages(root) {
  const names = (folder) => readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'));
  const listed = linksOf(readFileSync(join(root, GUIDE, 'README.md'), 'utf8')).map(
    ({ target }) => target.split('#')[0],
  );
  const guide = [
    ...new Set([...listed.filter((name) => existsSync(join(root, GUIDE, name))), ...names(GUIDE).toSorted()]),
  ];
  const reference = names('docs/reference').map((name) => `docs/reference/${name}`);
  const isRead = (path) => ![...NOT_PACKED, ...APPENDICES].includes(path);
  return {
    start: ['README.md', 'docs/safety.md', 'SECURITY.md'],
    guide: guide
      .filter((name) => name !== 'README.md' && name !== '')
      .map((name) => posix.join(GUIDE, name))
      .filter((path) => !NOT_PACKED.includes(path)),
    reference: reference.filter(isRead).toSorted(),
    appendices: APPENDICES.filter((path) => !NOT_PACKED.includes(path)),
  };
}

/** The messages for an `llms.txt` that differs from the documents, or for a page that it misses. */
export function llmsFaults(root) {
  const path = join(root, INDEX);
  const now = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const wrong = now === llmsIndex(root) ? [] : [`${INDEX}: differs from the documents: run \`npm run docs\``];
  const missing = linksOf(now).filter(({ target }) => !existsSync(join(root, target)));
  return [...wrong, ...missing.map(({ target, line }) => `${INDEX}:${line}: ${target} leads nowhere`)];
}

function titleOf(root, path) {
  const title = /^# (.+)$/m.exec(readFileSync(join(root, path), 'utf8'))?.[1];
  if (title === undefined) throw new Error(`${path} has no title`);
  return title.replaceAll('`', '');
}

/** The first sentence below the title, without links. */
function sentenceOf(root, path) {
  const text = readFileSync(join(root, path), 'utf8').replace(/<!--[\s\S]*?-->/g, '');
  const paragraphs = text.slice(text.indexOf('\n# ') + 1).split(/\n\s*\n/);
  const prose = paragraphs.find((paragraph) => /^[A-Z`[*]/.test(paragraph.trim()))?.trim();
  if (prose === undefined) throw new Error(`${path} has no paragraph below its title`);
  const flat = prose.replace(/\s+/g, ' ');
  const sentence = SENTENCE.exec(flat)?.[0] ?? flat;
  return sentence.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').replace(/:$/, '.');
}
