import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { llmsFull, llmsIndex, llmsPages, NOT_PACKED } from './documents/llms.mjs';
import { linksOf } from './documents/markdown.mjs';
import { screenFaults, shownLines } from './documents/screens.mjs';
import { packedDocuments } from './package/packed-documents.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

describe('llms.txt', () => {
  it('lists every document of the tarball once, and no other', () => {
    const listed = linksOf(llmsIndex(ROOT)).map(({ target }) => target);
    const documents = packedDocuments.filter((path) => path !== 'docs/guide/README.md');
    expect(listed).toHaveLength(documents.length);
    expect(new Set(listed)).toEqual(new Set(documents));
    expect(listed.filter((path) => NOT_PACKED.includes(path))).toEqual([]);
  });

  it('has a sentence for each page, without a link', () => {
    const lines = llmsIndex(ROOT)
      .split('\n')
      .filter((line) => line.startsWith('- '));
    expect(lines.length).toBeGreaterThan(35);
    for (const line of lines) expect(line).toMatch(/^- \[[^\]]+\]\([^)]+\): [^[\]]+\.$/);
  });

  it('takes its addresses from the site where there is one', () => {
    const text = llmsIndex(ROOT, (path) => `/site/${path}`);
    expect(linksOf(text).every(({ target }) => target.startsWith('/site/'))).toBe(true);
  });
});

describe('llms-full.txt', () => {
  it('contains the text of each page but the appendices, once and in order', () => {
    const text = llmsFull(ROOT);
    const { start, guide, reference, appendices } = llmsPages(ROOT);
    const paths = [...text.matchAll(/^<!-- (\S+\.md) -->$/gm)].map(([, path]) => path);
    expect(paths).toEqual([...start, ...guide, ...reference]);
    for (const path of paths) expect(text).toContain(readFileSync(join(ROOT, path), 'utf8').trim());
    expect(paths).not.toEqual(expect.arrayContaining(appendices));
  });
});

describe('A page of the guide', () => {
  it('counts the lines that a reader sees', () => {
    expect(shownLines('a\n\nb\n')).toBe(3);
    expect(shownLines(`${'a'.repeat(241)}\n`)).toBe(3);
    expect(shownLines(`<!-- cut from ${'a'.repeat(300)} -->\n[a](${'b'.repeat(300)})\n`)).toBe(1);
  });

  it('may have 240 lines, and other documents more', () => {
    const text = (lines) => 'a\n'.repeat(lines);
    expect(screenFaults('docs/guide/a.md', text(240))).toEqual([]);
    expect(screenFaults('docs/guide/a.md', text(241))).toEqual([expect.stringContaining('takes 241 lines')]);
    expect(screenFaults('docs/reference/a.md', text(500))).toEqual([]);
  });
});
