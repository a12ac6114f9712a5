import { existsSync, readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../docs/reference/compatibility.md', import.meta.url);
const SHOWN_BY = /\[[\w-]+\]\((?<path>[^)]+\.spec\.ts)\): (?<title>.+?) \|$/;

/** The rows of each table that has a column for its tests. The table of servers has none. */
const rows = readFileSync(DOCUMENT, 'utf8')
  .split(/\n(?!\|)/)
  .map((block) => block.split('\n').filter((line) => line.startsWith('|')))
  .flatMap(([header = '', _line, ...body]) => (header.endsWith('| shown by |') ? body : []));

/** Strings in quotes: titles of tests, and values in tables of tests. */
function textsOf(source: string): string[] {
  return Array.from(source.matchAll(/'((?:[^'\\\n]|\\.)*)'/g), ([, text = '']) => text);
}

/** Whether a test has that title, either literally or by `it.each`. */
function hasTest(texts: readonly string[], title: string): boolean {
  if (texts.includes(title)) return true;
  return texts.some((text) => {
    const [before = '', after, ...more] = text.split('%s');
    if (after === undefined || more.length > 0 || !title.startsWith(before) || !title.endsWith(after)) return false;
    return texts.includes(title.slice(before.length, title.length - after.length));
  });
}

describe('docs/reference/compatibility.md', () => {
  it.each(rows)('names an existing test: %s', (row) => {
    const { path = '', title = '' } = SHOWN_BY.exec(row)?.groups ?? {};
    const file = new URL(path, DOCUMENT);
    expect(path === '' ? row : existsSync(file)).toBe(true);
    expect(hasTest(textsOf(readFileSync(file, 'utf8')), title) ? title : `no test "${title}" in ${path}`).toBe(title);
  });

  it('has a row for each kind of method', () => {
    expect(rows.length).toBeGreaterThan(55);
    expect(hasTest(['locks %s', 'this'], 'locks that')).toBe(false);
  });
});
