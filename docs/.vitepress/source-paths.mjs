/** Which page of the site a file of the repository is. Paths are relative to the top of the repository. */

/** Documents outside of docs. */
const AT_TOP = new Map([
  ['README.md', 'index.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
  ['SECURITY.md', 'security.md'],
  ['CODE_OF_CONDUCT.md', 'code-of-conduct.md'],
  ['libs/distribute-lock/CHANGELOG.md', 'changes.md'],
]);

/** A document that only refers to another one. */
const SAME = new Map([['CHANGELOG.md', 'libs/distribute-lock/CHANGELOG.md']]);

/** The patterns of Markdown files that are no pages. */
export const excludedSources = [
  ...['.changeset', '.github', 'apps', 'bench', 'test', 'tools'].map((folder) => `${folder}/**`),
  'libs/*/!(CHANGELOG).md',
  'libs/*/*/**',
  ...SAME.keys(),
];

/** `docs/guide/README.md` is `guide/index.md`; `undefined` if the file is no page. */
export function pageOf(path) {
  const source = SAME.get(path) ?? path;
  if (AT_TOP.has(source)) return AT_TOP.get(source);
  if (!source.startsWith('docs/') || !source.endsWith('.md')) return undefined;
  return source.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md');
}
