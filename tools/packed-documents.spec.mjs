import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { linksOf } from './documents/markdown.mjs';
import { packedDocument, packedDocuments, webAddress } from './package/packed-documents.mjs';

const REPOSITORY = 'https://example.test/owner/name';
const packedText = (path, repository) =>
  packedDocument(path, readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'), '1.0.0', repository);
/** The files that the document links to without an address. */
const filesOf = (path, text) =>
  linksOf(text)
    .filter(({ target }) => !/^(?:https:|#)/.test(target))
    .map(({ target }) => posix.join(posix.dirname(path), target.split('#')[0]));

describe('A document of the package', () => {
  it.each(packedDocuments.flatMap((path) => [undefined, REPOSITORY].map((repository) => [path, repository])))(
    'has no relative link but those to files of the package: %s (repository %s)',
    (path, repository) => {
      const text = packedText(path, repository);
      const inside = [...packedDocuments, 'CHANGELOG.md'];
      expect(filesOf(path, text).filter((file) => !inside.includes(file))).toEqual([]);
      expect(text).toMatch(/^# /);
      expect(text).not.toMatch(/<!-- cut|^!\[/m);
    },
  );

  it('leads from the README to the guide while the repository is not known, and to the repository afterwards', () => {
    const readme = (repository) => filesOf('README.md', packedText('README.md', repository));
    expect(readme(undefined)).toContain('docs/guide/keys.md');
    expect(new Set(readme(REPOSITORY))).toEqual(new Set(['CHANGELOG.md']));
  });

  it('shows links to other files as absolute ones, or as text while the repository is not known', () => {
    const text = '![page](docs/a.png)\n\n[`a`](../internals/a.md#b) [c](https://d.test) [e](#f) [k](keys.md#g)\n';
    const of = (repository) => packedDocument('docs/guide/ttl.md', text, '1.0.0', repository);
    expect(of(REPOSITORY)).toBe(
      `[\`a\`](${REPOSITORY}/blob/v1.0.0/docs/internals/a.md#b) [c](https://d.test) [e](#f) [k](keys.md#g)\n`,
    );
    expect(of(undefined)).toBe('`a` [c](https://d.test) [e](#f) [k](keys.md#g)\n');
  });

  it('has the code of the repository', () => {
    const text = '```ts\nhandlers[type](event);\n```\n\n`a[b](c)`\n';
    expect(packedDocument('README.md', text, '1.0.0', undefined)).toBe(text);
  });

  it('finds the address in the manifest', () => {
    expect(webAddress({ repository: { url: `git+${REPOSITORY}.git` } })).toBe(REPOSITORY);
    expect(webAddress({})).toBeUndefined();
  });
});
