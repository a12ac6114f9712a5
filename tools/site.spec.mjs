import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { repositoryLinks } from '../docs/.vitepress/repository-links.mjs';
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
    write(
      'index.html',
      `${head}<a href="/v1/guide/#guide">a</a><a href="guide/index.html">b</a><a href="#c" id="c">c</a>`,
    );

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

describe('a link of a document, on the site', () => {
  const REPOSITORY = 'https://example.test/owner/name';
  const root = fileURLToPath(new URL('..', import.meta.url));

  /** A token of markdown-it. */
  const open = (href) => ({
    type: 'link_open',
    attrs: [['href', href]],
    attrGet: () => href,
    attrSet(name, value) {
      this.attrs = [[name, value]];
    },
  });

  /** The new target of a link in docs/guide/keys.md; `undefined` if only its text remains. */
  function targetOf(href, repository) {
    let rule;
    repositoryLinks({ core: { ruler: { push: (_name, given) => (rule = given) } } }, repository);
    const children = [open(href), { type: 'text', content: 'x' }, { type: 'link_close' }];
    rule({ tokens: [{ children }], env: { path: join(root, 'docs/guide/keys.md') } });
    const types = children.map(({ type }) => type).join(' ');
    if (types === 'text text text') return undefined;
    expect(types).toBe('link_open text link_close');
    return children[0].attrs?.[0][1];
  }

  it.each([
    ['waiting.md#limits', '/guide/waiting.md#limits'],
    ['../../README.md', '/index.md'],
    ['../../SECURITY.md#threats', '/security.md#threats'],
    ['README.md', '/guide/index.md'],
    ['#here', '#here'],
    ['https://example.test/', 'https://example.test/'],
    ['../../test/nest/http.spec.ts', `${REPOSITORY}/blob/main/test/nest/http.spec.ts`],
  ])('%s leads to %s', (href, target) => expect(targetOf(href, REPOSITORY)).toBe(target));

  it('is plain text if it leads to another file and the repository is not known', () => {
    expect(targetOf('../../test/nest/http.spec.ts', undefined)).toBeUndefined();
  });
});
