import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pageOf } from '../docs/.vitepress/source-paths.mjs';
import { checkSite } from './documents/site.mjs';

describe('checkSite', () => {
  let site;
  const write = (name, text) => {
    mkdirSync(dirname(join(site, name)), { recursive: true });
    writeFileSync(join(site, name), text);
  };

  beforeEach(() => {
    site = mkdtempSync(join(tmpdir(), 'site-'));
    write('guide/index.html', '<h1 id="guide">Guide</h1>');
    write('assets/style.css', '');
  });

  afterEach(() => rmSync(site, { recursive: true, force: true }));

  it('accepts pages, anchors, files and links to other sites', () => {
    const head = '<link rel="stylesheet" href="/v1/assets/style.css"><a href="https://example.test/">x</a>';
    write('index.html', `${head}<a href="/v1/guide/#guide">a</a><a href="guide/index.html">b</a><a href="#c" id="c">c</a>`);

    expect(checkSite(site, '/v1/')).toEqual({ pages: 2, links: 5, faults: [] });
  });

  it.each([
    ['<a href="/nowhere.html">', 'index.html: /nowhere.html leads nowhere'],
    ['<a class="x" href="guide/#x">', 'index.html: guide/#x leads to no anchor'],
    ['<a href="#x">', 'index.html: #x leads to no anchor'],
    ['<img alt="" src="./plot.svg">', 'index.html: ./plot.svg leads nowhere'],
    ['<script src="https://example.test/x.js">', 'index.html: https://example.test/x.js is loaded from another host'],
  ])('reports %s', (text, fault) => {
    write('index.html', text);

    expect(checkSite(site, '/').faults).toEqual([fault]);
  });
});

describe('the page of a file', () => {
  it.each([
    ['README.md', 'index.md'],
    ['docs/guide/README.md', 'guide/index.md'],
    ['docs/guide/keys.md', 'guide/keys.md'],
    ['SECURITY.md', 'security.md'],
    ['CHANGELOG.md', 'changes.md'],
    ['test/consumers/consumers.spec.ts', undefined],
    ['bench/README.md', undefined],
  ])('%s: %s', (file, page) => expect(pageOf(file)).toBe(page));
});
