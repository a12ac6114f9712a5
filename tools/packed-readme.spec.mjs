import { readFileSync } from 'node:fs';
import { linksOf } from './documents/markdown.mjs';
import { packedReadme, webAddress } from './package/packed-readme.mjs';

const REPOSITORY = 'https://example.test/owner/name';
const relative = (text) => linksOf(text).filter(({ target }) => !/^(?:https:|#)/.test(target));

describe('The README of the package', () => {
  it.each([undefined, REPOSITORY])(
    'has no relative link but those to files of the package (repository %s)',
    (repository) => {
      const text = packedReadme(readFileSync(new URL('../README.md', import.meta.url), 'utf8'), '1.0.0', repository);
      expect(relative(text).map(({ target }) => target)).toEqual(['CHANGELOG.md']);
      expect(text).toContain('# nestjs-distribute-lock');
      expect(text).not.toMatch(/<!--|!\[/);
    },
  );

  it('shows links as absolute ones, or as text while the repository is not known', () => {
    const text = '![page](docs/a.png)\n\n[a](docs/a.md#b) [c](https://d.test) [e](#f)\n';
    expect(packedReadme(text, '1.0.0', REPOSITORY)).toBe(
      `[a](${REPOSITORY}/blob/v1.0.0/docs/a.md#b) [c](https://d.test) [e](#f)\n`,
    );
    expect(packedReadme(text, '1.0.0', undefined)).toBe('a [c](https://d.test) [e](#f)\n');
  });

  it('finds the address in the manifest', () => {
    expect(webAddress({ repository: { url: `git+${REPOSITORY}.git` } })).toBe(REPOSITORY);
    expect(webAddress({})).toBeUndefined();
  });
});
