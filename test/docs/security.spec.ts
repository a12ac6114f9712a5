import { readFile } from 'node:fs/promises';

const REFERENCE = /`((?:test|libs)\/[\w/.-]+\.spec\.ts)`: ((?:"[^"]+"(?:, )?)+)/g;

describe('The threat table of SECURITY.md', () => {
  it('names existing tests, at least one in each row', async () => {
    const text = await readFile('SECURITY.md', 'utf8');
    const rows = text
      .slice(text.indexOf('| threat |'))
      .split('\n')
      .slice(2)
      .filter((line) => line.startsWith('|'));
    expect(rows.length).toBeGreaterThan(10);
    for (const row of rows) {
      const references = [...row.matchAll(REFERENCE)];
      expect({ row, tests: references.length }).not.toMatchObject({ tests: 0 });
      for (const [, path, titles] of references) {
        const spec = await readFile(path, 'utf8');
        for (const [, title] of titles.matchAll(/"([^"]+)"/g))
          expect({ path, title, found: spec.includes(title) }).toMatchObject({ found: true });
      }
    }
  });
});
